"""The score of p_t(theta_t | x_j) for every sample and every observation at once.

A `Score` is a model of the posterior score; `bind(x)` fixes the observations and does all the work that
depends on them only once. The resulting `BoundScore` maps theta [B, S, m] at time t to the scores of all n
observations, [B, S, n, m], and on request to their Jacobians in theta, [B, S, n, m, m].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor

from tallsbi.shapes import Jacobians, Observations, Scores, States

if TYPE_CHECKING:
    from tallsbi.schedule import Schedule


class BoundScore(ABC):
    """Scores of n single-observation posteriors for each of B datasets, the observations fixed."""

    n: int
    schedule: Schedule

    @abstractmethod
    def __call__(self, theta: States, t: float) -> Scores: ...

    def total(self, theta: States, t: float) -> States:
        """Sum of the scores over the observations; overridden where the sum is cheaper than its terms."""
        return self(theta, t).sum(2)

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundScore | None:
        """The score of these datasets, in this order and perhaps repeated; None where it cannot be split by dataset."""
        return None

    def with_jacobian(self, theta: States, t: float) -> tuple[Scores, Jacobians]:
        """Scores and Jacobians d score_i / d theta_k; by forward-mode differentiation unless overridden."""
        columns = []
        for k in range(theta.shape[-1]):
            direction = torch.zeros_like(theta)
            direction[..., k] = 1
            scores, column, *_ = torch.func.jvp(lambda th: self(th, t), (theta,), (direction,))
            columns.append(column)
        return scores, torch.stack(columns, dim=-1)


class Score(ABC):
    """A model of the score of p_t(theta_t | x) for a single observation x."""

    dim: int
    schedule: Schedule

    @abstractmethod
    def bind(self, x: Observations) -> BoundScore: ...

    def repeat(self, n: int) -> Score:
        """The score with every dataset n times over; the same object where nothing depends on the dataset."""
        return self

    def __call__(self, theta: States, x: Observations, t: float) -> Scores:
        return self.bind(x)(theta, t)

"""A tall score: the score of the diffused posterior given all n observations, equation (10) of the paper.

A `TallScore` wraps a `BoundScore` and a `DiffusedPrior`, so that a sampler sees one function of (theta, t) whatever
the composition. The exact score is the plain sum and a correction (12); with Gaussian backward kernels (13) both
together become the precision-weighted sum (16) that GAUSS and JAC share,

    Lambda s = sum_j P_j s_j + (1 - n) P_prior s_prior,   Lambda = sum_j P_j + (1 - n) P_prior,

with P the precisions of the backward kernels. Every P is (alpha / sigma^2) I + E with E the excess
precision, so Lambda = (alpha / sigma^2) I + sum_j E_j + (1 - n) E_prior: n terms of order alpha / sigma^2
cancel on paper instead of in floating point.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tallsbi.linalg.batched import inverse
from tallsbi.priors.base import DiffusedPrior
from tallsbi.scores.base import BoundScore
from tallsbi.shapes import Precisions, States

_JACOBIAN_ENTRIES = 400_000  # held at once


def sample_blocks(theta: States, n: int) -> Iterator[slice]:
    """The samples in blocks, such that the Jacobians of a block and n observations fit into memory."""
    B, S, m = theta.shape
    step = max(1, _JACOBIAN_ENTRIES // (B * n * m * m))
    for start in range(0, S, step):
        yield slice(start, min(start + step, S))


class EventCount:
    """How often something happened per dataset, and the largest diffusion time at which it did."""

    def __init__(self, datasets: int) -> None:
        self._count = torch.zeros(datasets, dtype=torch.int64)
        self._first_time = torch.full((datasets,), torch.nan, dtype=torch.float64)

    @property
    def count(self) -> Int[Tensor, "B"]:
        return self._count.cpu()

    @property
    def first_time(self) -> Float[Tensor, "B"]:
        return self._first_time.cpu()

    def add(self, happened: Bool[Tensor, "B S"], t: float) -> None:
        # On a GPU all is counted there, and the host asks once, at the end.
        if happened.device.type != "cpu" or bool(happened.any()):
            self.add_numbers(happened.sum(1), t)

    def add_numbers(self, number: Int[Tensor, "B"], t: float) -> None:
        self._count, self._first_time = self._count.to(number.device), self._first_time.to(number.device)
        # Samplers walk down from t = 1: the first event has the largest time.
        fresh = (number > 0) & (self._count == 0)
        self._first_time = torch.where(fresh, t, self._first_time)
        self._count = self._count + number


class TallScore(ABC):
    """Score of p_t(theta_t | x_1, ..., x_n) for B datasets.

    `lost_definiteness` counts, per dataset, the evaluations in which Lambda was not positive definite.
    """

    def __init__(self, single: BoundScore, prior: DiffusedPrior, datasets: int) -> None:
        self.single, self.prior = single, prior
        self.n, self.schedule, self.dim, self.datasets = single.n, single.schedule, prior.dim, datasets
        self.lost_definiteness = EventCount(datasets)

    _per_dataset: tuple[str, ...] | None = None
    """Attributes with one entry per dataset, [B, ...], beside score and prior; None: unknown, `chosen` gives None."""

    @abstractmethod
    def __call__(self, theta: States, t: float) -> States: ...

    def chosen(self, datasets: Int[Tensor, "V"]) -> TallScore | None:
        """The tall score of these datasets, in this order and perhaps repeated, with a count of its own.

        None where the score, the prior or the composition cannot be split by dataset.
        """
        if self._per_dataset is None:
            return None
        single, prior = self.single.chosen(datasets), self.prior.chosen(datasets)
        if single is None or prior is None:
            return None
        again = copy.copy(self)
        again.single, again.prior, again.datasets = single, prior, len(datasets)
        again.lost_definiteness = EventCount(len(datasets))
        for name in self._per_dataset:
            setattr(again, name, getattr(self, name)[datasets])
        return again


class WeightedScore(TallScore):
    """What the precision-weighted compositions share.

    `switch_over`: for a prior that is not Gaussian, use the plain sum of scores as long as
    sqrt(alpha) <= switch_over (the published code's rule, 0.5); 0 means the weighted formula at every t.
    """

    def __init__(
        self, single: BoundScore, prior: DiffusedPrior, datasets: int, switch_over: float = 0.0
    ) -> None:
        super().__init__(single, prior, datasets)
        if not 0 <= switch_over <= 1:
            raise ValueError(f"switch_over={switch_over}: a level of sqrt(alpha), between 0 and 1.")
        self.switch_over = switch_over

    def __call__(self, theta: States, t: float) -> States:
        if self.n == 1:
            return self.single(theta, t)[:, :, 0]
        if not self.prior.constant_precision and self.schedule.sqrt_alpha(t) <= self.switch_over:
            prior_score = self.prior.diffused_score(theta, t, self.schedule)
            return self.single.total(theta, t) + (1 - self.n) * prior_score
        return self._weighted(theta, t)

    @abstractmethod
    def _weighted(self, theta: States, t: float) -> States: ...

    def _solve(
        self,
        theta: States,
        t: float,
        score_sum: States,
        excess_sum: Float[Tensor, "B #S m m"],
        weighted_sum: States,
    ) -> States:
        """The tall score from sum_j s_j, sum_j E_j and sum_j E_j s_j."""
        ratio = self.schedule.alpha(t) / self.schedule.sigma2(t)
        prior_score, prior_excess = self.prior.score_and_excess(theta, t, self.schedule)
        eye = torch.eye(self.dim, dtype=theta.dtype, device=theta.device)
        Lambda = ratio * eye + excess_sum + (1 - self.n) * prior_excess
        prior_part = ratio * prior_score + _apply(prior_excess, prior_score)
        right = ratio * score_sum + weighted_sum + (1 - self.n) * prior_part
        inverses, positive = inverse(Lambda)
        self.lost_definiteness.add(~positive.expand(theta.shape[:2]), t)
        return _apply(inverses, right)


def _apply(matrices: Precisions, vectors: States) -> States:
    """Matrix times vector, sample by sample; a matrix all samples share makes it one product."""
    if matrices.shape[1] == 1:
        return vectors @ matrices[:, 0].mT
    return (matrices * vectors[..., None, :]).sum(-1)

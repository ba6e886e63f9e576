"""What an algorithm is: most are a composition and a sampler, with their settings.

`sample` takes a `Problem` (score, prior and the observations of B datasets) and returns S draws of each tall
posterior. `score_evaluations` says what that costs, in evaluations of the score per sample and observation.
What several algorithms have in common is in `tallsbi.algorithms.shared`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import DiffusedPrior
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.scores.base import Score
from tallsbi.shapes import Observations, States


@runtime_checkable
class Likelihood(Protocol):
    def log_prob(self, theta: States) -> Float[Tensor, "B S"]:
        """Log likelihood of the observations of every dataset, up to a constant."""


@dataclass(frozen=True)
class Problem:
    """n observations of each of B datasets, and the score and prior to explain them with."""

    score: Score
    prior: DiffusedPrior
    x: Observations
    likelihood: Likelihood | None = None
    """That of the same observations, where one was learnt (see `tallsbi.summaries`)."""

    @property
    def datasets(self) -> int:
        return self.x.shape[0]


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Settings common to all: T time steps, and the half-width of the clipping box (None: no clipping)."""

    steps: int = 400
    clip: float | None = None

    # Without an annotation: a fact about the algorithm, not a setting.
    true_prior = False
    """Works with the prior's true bounds, whatever `uniform_bounds_factor` says."""

    @classmethod
    def settings(cls) -> list[str]:
        """Names of the settings a configuration may give."""
        return [field.name for field in fields(cls) if field.name != "clip"]

    @property
    @abstractmethod
    def score_evaluations(self) -> int:
        """Evaluations of the score per sample and observation."""

    @abstractmethod
    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples: ...

    def sample_both(
        self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter
    ) -> tuple[Samples, Samples]:
        """Draws without and with the clipping, from the same noise, each as `sample` would give them."""
        self._require_box()
        start = noise.states()
        plain = replace(self, clip=None).sample(problem, samples, noise, progress)
        noise.rewind(start)
        return plain, self.sample(problem, samples, noise, progress)

    def _require_box(self) -> None:
        if self.clip is None:
            raise ValueError(f"{type(self).__name__}(clip=None): draws with and without clipping need a box.")

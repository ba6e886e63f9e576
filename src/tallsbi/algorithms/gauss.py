"""GAUSS: precision weights from estimated posterior covariances, sampled by DDIM (the paper's algorithm 2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.shared.covariances import (
    WHITENED_SAMPLES,
    WHITENED_STEPS,
    EstimatesCovariances,
    single_scores,
    whitened_draws,
)
from tallsbi.algorithms.shared.weighted import WeightedAlgorithm
from tallsbi.compose.base import TallScore
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss import GaussScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.ddim import DDIM
from tallsbi.shapes import States

PUBLISHED, WHITENED = "published", "whitened"
# cov_steps and cov_samples unless given: those of the paper, and those beyond which more hardly help.
_RUNS = {PUBLISHED: (100, 1000), WHITENED: (WHITENED_STEPS, WHITENED_SAMPLES)}
_LEAST_VARIANCE = 1e-8  # added to each variance, relative to the prior's


@dataclass(frozen=True, kw_only=True)
class Gauss(EstimatesCovariances, WeightedAlgorithm):
    """`covariances`: how those of the single-observation posteriors are estimated. `published`: from draws by DDIM with
    eta = `cov_eta`, as in the paper; `whitened`: from a deterministic run (`tallsbi.algorithms.shared.covariances`).

    `cov_*`: that run; 0 steps or samples: as many as the estimator needs.
    """

    covariances: str = WHITENED
    cov_steps: int = 0
    cov_samples: int = 0
    cov_eta: float = 0.5

    def __post_init__(self) -> None:
        if self.covariances not in _RUNS:
            raise ValueError(f"covariances = {self.covariances!r}: must be one of {', '.join(_RUNS)}.")
        for name, usual in zip(("cov_steps", "cov_samples"), _RUNS[self.covariances], strict=True):
            object.__setattr__(self, name, getattr(self, name) or usual)

    def tall(self, problem: Problem, samples: int, noise: Noise) -> TallScore:
        single = problem.score.bind(problem.x)
        if single.n == 1:  # the plain score needs no weights
            return FactorisedScore(single, problem.prior, problem.datasets)
        covariances = self.estimate(problem, noise)
        if self.covariances == WHITENED:
            # Where all draws of a run were projected to the edge of a box there is no spread, and no inverse.
            variances = problem.prior.covariance().diagonal(dim1=-2, dim2=-1)
            covariances = covariances + _LEAST_VARIANCE * torch.diag_embed(variances)[:, None]
        return GaussScore(single, problem.prior, covariances, problem.x.dtype, self.switch_over)

    def _single_draws(self, problem: Problem, noise: Noise) -> Float[Tensor, "Bn S m"]:
        if self.covariances == WHITENED:
            return whitened_draws(problem, noise, self.cov_steps, self.cov_samples)
        sampler = DDIM(steps=self.cov_steps, eta=self.cov_eta)
        each = _per_observation(noise, problem.x.shape[1])
        return sampler.run(single_scores(problem), self.cov_samples, each).theta


def _per_observation(noise: Noise, n: int) -> Noise:
    """Noise for B * n datasets out of noise for B, still reproducible dataset by dataset."""
    return noise if len(noise.generators) == 1 else _BlockNoise(noise, n)


class _BlockNoise(Noise):
    def __init__(self, noise: Noise, n: int) -> None:
        super().__init__(noise.generators, noise.dtype, noise.device)
        self.n = n

    def __call__(self, datasets: int, samples: int, dim: int) -> States:
        return torch.cat([self._draw(generator, self.n, samples, dim) for generator in self.generators])


ALGORITHM = Gauss

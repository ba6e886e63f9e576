"""GAUSS: precision weights from estimated posterior covariances, sampled by DDIM (the paper's proposal)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Problem, WeightedAlgorithm
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss import GaussScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.samplers.ddim import DDIM

_OBSERVATIONS = 100  # whose covariance runs are in memory at once


@dataclass(frozen=True, kw_only=True)
class Gauss(WeightedAlgorithm):
    """`cov_*`: the DDIM run per observation that the posterior covariances are estimated from."""

    cov_steps: int = 100
    cov_eta: float = 0.5
    cov_samples: int = 1000

    @property
    def score_evaluations(self) -> int:
        return self.steps + self.cov_steps

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        single = problem.score.bind(problem.x)
        if single.n == 1:  # the plain score needs no weights
            tall = FactorisedScore(single, problem.prior, problem.datasets)
        else:
            covariances = self.covariances(problem, noise)
            tall = GaussScore(single, problem.prior, covariances, problem.x.dtype, self.switch_over)
        return DDIM(steps=self.steps, clip=self.clip, eta=self.churn).run(tall, samples, noise, progress)

    def covariances(self, problem: Problem, noise: Noise) -> Float[Tensor, "B n m m"]:
        """Empirical covariances of the n single-observation posteriors of each dataset."""
        if self.cov_samples <= problem.score.dim:
            raise ValueError(
                f"cov_samples={self.cov_samples}: a covariance in {problem.score.dim} dimensions needs more "
                f"than {problem.score.dim} samples."
            )
        parts = problem.x.split(_OBSERVATIONS, dim=1)
        return torch.cat([self._covariances(replace(problem, x=x), noise) for x in parts], dim=1)

    def _covariances(self, problem: Problem, noise: Noise) -> Float[Tensor, "B n m m"]:
        B, n, d = problem.x.shape
        single = problem.score.repeat(n).bind(problem.x.reshape(B * n, 1, d))
        plain = FactorisedScore(single, problem.prior, B * n)
        runner = DDIM(steps=self.cov_steps, eta=self.cov_eta)
        theta = runner.run(plain, self.cov_samples, _per_observation(noise, n)).theta.double()
        centred = theta - theta.mean(1, keepdim=True)
        covariance = centred.mT @ centred / (self.cov_samples - 1)
        return covariance.reshape(B, n, *covariance.shape[-2:])


def _per_observation(noise: Noise, n: int) -> Noise:
    """Noise for B * n datasets out of noise for B, still reproducible dataset by dataset."""
    if len(noise.generators) == 1:
        return noise
    return _BlockNoise(noise, n)


class _BlockNoise(Noise):
    def __init__(self, noise: Noise, n: int) -> None:
        super().__init__(noise.generators, noise.dtype)
        self.n = n

    def __call__(self, datasets: int, samples: int, dim: int) -> Float[Tensor, "B S m"]:
        return torch.cat([self._draw(generator, self.n, samples, dim) for generator in self.generators])


ALGORITHM = Gauss

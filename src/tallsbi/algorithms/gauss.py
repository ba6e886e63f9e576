"""GAUSS: precision weights from estimated posterior covariances, sampled by DDIM (the paper's algorithm 2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.shared.covariances import EstimatesCovariances
from tallsbi.algorithms.shared.weighted import WeightedAlgorithm
from tallsbi.compose.base import TallScore
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss import GaussScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.samplers.ddim import DDIM
from tallsbi.shapes import States


@dataclass(frozen=True, kw_only=True)
class Gauss(EstimatesCovariances, WeightedAlgorithm):
    """`cov_*`: the DDIM run per observation that the posterior covariances are estimated from."""

    cov_eta: float = 0.5

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        single = problem.score.bind(problem.x)
        if single.n == 1:  # the plain score needs no weights
            tall: TallScore = FactorisedScore(single, problem.prior, problem.datasets)
        else:
            covariances = self.covariances(problem, noise)
            tall = GaussScore(single, problem.prior, covariances, problem.x.dtype, self.switch_over)
        return self.sampler.run(tall, samples, noise, progress)

    def _single_draws(self, problem: Problem, noise: Noise) -> Float[Tensor, "Bn S m"]:
        B, n, d = problem.x.shape
        single = problem.score.repeat(n).bind(problem.x.reshape(B * n, 1, d))
        plain = FactorisedScore(single, problem.prior, B * n)
        sampler = DDIM(steps=self.cov_steps, eta=self.cov_eta)
        return sampler.run(plain, self.cov_samples, _per_observation(noise, n)).theta


def _per_observation(noise: Noise, n: int) -> Noise:
    """Noise for B * n datasets out of noise for B, still reproducible dataset by dataset."""
    return noise if len(noise.generators) == 1 else _BlockNoise(noise, n)


class _BlockNoise(Noise):
    def __init__(self, noise: Noise, n: int) -> None:
        super().__init__(noise.generators, noise.dtype)
        self.n = n

    def __call__(self, datasets: int, samples: int, dim: int) -> States:
        return torch.cat([self._draw(generator, self.n, samples, dim) for generator in self.generators])


ALGORITHM = Gauss

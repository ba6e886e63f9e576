"""What GAUSS and GAUSS_PD share: covariances of the single-observation posteriors, estimated from runs of their own.

A sample covariance of N draws in m dimensions is noisy, and its inverse is too large by about N / (N - m) on average; a
sum of n such inverses keeps that bias. `whitened_draws` leaves out the noise instead of averaging over it: the flow of
the second-order solver from draws whose sample moments are exactly those of the starting noise.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.multistep import Multistep
from tallsbi.shapes import States

WHITENED_STEPS, WHITENED_SAMPLES = 30, 500
_OBSERVATIONS = 100  # estimated at once; fixed, so that a dataset's noise does not depend on the others


@dataclass(frozen=True, kw_only=True)
class EstimatesCovariances(Algorithm):
    """`cov_*`: the run per observation that its covariance is estimated from."""

    cov_steps: int = WHITENED_STEPS
    cov_samples: int = WHITENED_SAMPLES

    @property
    def score_evaluations(self) -> int:
        return self.steps + self.cov_steps

    def estimate(self, problem: Problem, noise: Noise) -> Float[Tensor, "B n m m"]:
        """Empirical covariances of the n single-observation posteriors of each dataset."""
        if self.cov_samples <= problem.score.dim:
            raise ValueError(
                f"cov_samples={self.cov_samples}: a covariance in {problem.score.dim} dimensions needs more "
                f"than {problem.score.dim} samples."
            )
        parts = []
        for x in problem.x.split(_OBSERVATIONS, dim=1):
            theta = self._single_draws(replace(problem, x=x), noise)
            parts.append(covariance(theta).unflatten(0, x.shape[:2]))
        return torch.cat(parts, dim=1)

    @abstractmethod
    def _single_draws(self, problem: Problem, noise: Noise) -> Float[Tensor, "Bn S m"]:
        """`cov_samples` draws of each single-observation posterior, B times n of them."""


def covariance(theta: States) -> Float[Tensor, "B m m"]:
    """Of the samples of each dataset, in float64."""
    centred = theta.double() - theta.double().mean(1, keepdim=True)
    return centred.mT @ centred / (theta.shape[1] - 1)


def single_scores(problem: Problem) -> FactorisedScore:
    """The score of each observation alone: B times n datasets of one."""
    (B, n, d), score = problem.x.shape, problem.score
    return FactorisedScore(
        score.repeat(n).bind(problem.x.reshape(B * n, 1, d)), problem.prior.repeat(n), B * n
    )


def whitened_draws(problem: Problem, noise: Noise, steps: int, samples: int) -> Float[Tensor, "Bn S m"]:
    """`samples` draws of each single-observation posterior by a deterministic run from whitened noise."""
    (B, n, _), m = problem.x.shape, problem.score.dim
    start = _whitened(noise(B, n * samples, m).reshape(B * n, samples, m))
    return Multistep(steps=steps).run_from(start, single_scores(problem), noise).theta


def _whitened(z: States) -> States:
    """Draws with sample mean 0 and sample covariance I.

    The flow to a Gaussian posterior is affine: started from these, its sample covariance is the posterior's, and
    only what is not Gaussian about a posterior is left to chance.
    """
    centred = z.double() - z.double().mean(1, keepdim=True)
    factor = torch.linalg.cholesky(covariance(z))
    return torch.linalg.solve_triangular(factor, centred.mT, upper=False).mT.to(z.dtype)

"""What GAUSS and GAUSS_PD share: covariances of the single-observation posteriors, estimated from runs of their own."""

from abc import abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.samplers.base import Noise
from tallsbi.shapes import States

_OBSERVATIONS = 100  # estimated at once; fixed, so that a dataset's noise does not depend on the others


@dataclass(frozen=True, kw_only=True)
class EstimatesCovariances(Algorithm):
    """`cov_*`: the run per observation that its covariance is estimated from."""

    cov_steps: int = 100
    cov_samples: int = 1000

    @property
    def score_evaluations(self) -> int:
        return self.steps + self.cov_steps

    def covariances(self, problem: Problem, noise: Noise) -> Float[Tensor, "B n m m"]:
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

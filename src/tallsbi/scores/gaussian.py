"""Exact score of the Gaussian model: prior N(mu, C), x | theta ~ N(theta, noise) (appendix D.1).

The single-observation posterior is N(mean_j, V) with V = (C^-1 + noise^-1)^-1 the same for every
observation and mean_j = V (noise^-1 x_j + C^-1 mu); diffused, it is N(sqrt(alpha) mean_j, alpha V + sigma^2 I).
"""

from __future__ import annotations

import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.priors.gaussian import Gaussian
from tallsbi.schedule import Schedule
from tallsbi.scores.base import BoundScore, Score
from tallsbi.shapes import Jacobians, Scores, States


class GaussianScore(Score):
    """Score of the posterior of a Gaussian mean; the prior may be one per dataset."""

    def __init__(self, prior: Gaussian, noise_cov: Float[Tensor, "m m"], schedule: Schedule) -> None:
        self.prior, self.noise_cov, self.schedule = prior, noise_cov, schedule
        self.dim = prior.dim
        # In double precision once: a wide prior makes these sums badly scaled.
        prior_precision = torch.linalg.inv(prior.cov.double())
        self.noise_precision = torch.linalg.inv(noise_cov.double())
        self.posterior_cov = torch.linalg.inv(prior_precision + self.noise_precision)
        self._offset = (prior_precision @ prior.mean.double()[..., None])[..., 0]

    def posterior_means(self, x: Float[Tensor, "B n m"]) -> Float[Tensor, "B n m"]:
        """Means of the n single-observation posteriors, in float64."""
        return (x.double() @ self.noise_precision + self._offset[:, None, :]) @ self.posterior_cov

    def bind(self, x: Float[Tensor, "B n m"]) -> BoundGaussianScore:
        return BoundGaussianScore(self.posterior_means(x).to(x.dtype), self.posterior_cov, self.schedule)

    def repeat(self, n: int) -> GaussianScore:
        return GaussianScore(self.prior.repeat(n), self.noise_cov, self.schedule)


class BoundGaussianScore(BoundScore):
    def __init__(
        self, means: Float[Tensor, "B n m"], cov: Float[Tensor, "#B m m"], schedule: Schedule
    ) -> None:
        self.means, self.schedule = means, schedule
        self.n = means.shape[1]
        self._eigenvalues, self._eigenvectors = torch.linalg.eigh(cov)

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundGaussianScore:
        again = copy.copy(self)
        again.means = self.means[datasets]
        if len(self._eigenvalues) > 1:
            again._eigenvalues = self._eigenvalues[datasets]
            again._eigenvectors = self._eigenvectors[datasets]
        return again

    def precision(self, t: float) -> Float[Tensor, "#B m m"]:
        """(alpha V + sigma^2 I)^-1, shared by all observations."""
        scaled = self.schedule.alpha(t) * self._eigenvalues + self.schedule.sigma2(t)
        full = (self._eigenvectors / scaled[:, None, :]) @ self._eigenvectors.mT
        return full.to(self.means.dtype)

    def __call__(self, theta: States, t: float) -> Scores:
        precision = self.precision(t)
        at_means = (self.schedule.sqrt_alpha(t) * self.means) @ precision
        return at_means[:, None, :, :] - (theta @ precision)[:, :, None, :]

    def total(self, theta: States, t: float) -> States:
        precision = self.precision(t)
        at_means = (self.schedule.sqrt_alpha(t) * self.means.sum(1, keepdim=True)) @ precision
        return at_means - self.n * (theta @ precision)

    def with_jacobian(self, theta: States, t: float) -> tuple[Scores, Jacobians]:
        scores = self(theta, t)
        m = theta.shape[-1]
        return scores, -self.precision(t)[:, None, None].expand(*scores.shape[:3], m, m)

"""Exact score of a model whose single-observation posterior is a mixture of diagonal Gaussians.

x | theta ~ sum_k w_k N(theta, diag(noise_k)) with prior N(0, I): the posterior is
sum_k omega_k(x) N(mean_k, diag(v_k)) with v_k = noise_k / (1 + noise_k), mean_k = x / (1 + noise_k) and
omega_k(x) proportional to w_k N(x; 0, diag(1 + noise_k)) (appendix D.2, corrected: see
`docs/fidelity.md`). Diffused, every component stays Gaussian; the score weighs the component scores by their
responsibilities at (theta_t, t), and its Jacobian follows in closed form.
"""

from __future__ import annotations

import copy
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.schedule import Schedule
from tallsbi.scores.base import BoundScore, Score
from tallsbi.shapes import Jacobians, Scores, States


class MixtureScore(Score):
    """Components k = 1..K with weights [K] and diagonal noise variances [K, m]; prior N(0, I)."""

    def __init__(self, weights: Float[Tensor, "K"], noise: Float[Tensor, "K m"], schedule: Schedule) -> None:
        self.weights, self.noise, self.schedule = weights, noise, schedule
        self.dim = noise.shape[-1]

    def log_evidence(self, x: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch K"]:
        """log w_k + log N(x; 0, I + noise_k)."""
        variance = 1 + self.noise
        quadratic = (x[..., None, :].square() / variance).sum(-1)
        log_det = variance.log().sum(-1) + self.dim * math.log(2 * math.pi)
        return self.weights.log() - 0.5 * (quadratic + log_det)

    def bind(self, x: Float[Tensor, "B n m"]) -> BoundMixtureScore:
        log_weights = torch.log_softmax(self.log_evidence(x), dim=-1)
        means = x[:, :, None, :] / (1 + self.noise)
        return BoundMixtureScore(log_weights, means, self.noise / (1 + self.noise), self.schedule)


class BoundMixtureScore(BoundScore):
    def __init__(
        self,
        log_weights: Float[Tensor, "B n K"],
        means: Float[Tensor, "B n K m"],
        variances: Float[Tensor, "K m"],
        schedule: Schedule,
    ) -> None:
        self.log_weights, self.variances, self.schedule = log_weights.mT, variances, schedule
        self.means = means.transpose(1, 2).contiguous()  # [B, K, n, m]
        self.n = means.shape[1]

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundMixtureScore:
        again = copy.copy(self)
        again.log_weights, again.means = self.log_weights[datasets], self.means[datasets]
        return again

    def _responsibilities(self, theta: Tensor, t: float) -> tuple[Tensor, Tensor, Tensor]:
        """Responsibilities [B, S, K, n]; pulls precision * sqrt(alpha) mean [B, K, n, m]; precisions [K, m].

        The score of component k is pull_k - precision_k theta. Its quadratic form is expanded, so that it
        costs matrix products over the coordinates and no tensor of the size [B, S, K, n, m].
        """
        precision = 1 / (self.schedule.alpha(t) * self.variances + self.schedule.sigma2(t))
        centre = self.schedule.sqrt_alpha(t) * self.means
        pull = centre * precision[:, None]
        constant = self.log_weights + 0.5 * (precision.log().sum(-1)[:, None] - (pull * centre).sum(-1))
        cross = (theta @ pull.flatten(1, 2).mT).unflatten(-1, pull.shape[1:3])
        squares = theta.square() @ precision.mT
        log_density = cross.add_(constant[:, None]).sub_(squares[..., None], alpha=0.5)
        return torch.softmax(log_density, dim=2), pull, precision

    def __call__(self, theta: States, t: float) -> Scores:
        responsibility, pull, precision = self._responsibilities(theta, t)
        score = theta.new_zeros(*responsibility.shape[:2], self.n, theta.shape[-1])
        for k in range(len(precision)):
            component = pull[:, None, k] - (precision[k] * theta)[:, :, None]
            score.addcmul_(responsibility[:, :, k, :, None], component)
        return score

    def total(self, theta: States, t: float) -> States:
        responsibility, pull, precision = self._responsibilities(theta, t)
        pulled = responsibility.flatten(2) @ pull.flatten(1, 2)
        return pulled - theta * (responsibility.sum(-1) @ precision)

    def with_jacobian(self, theta: States, t: float) -> tuple[Scores, Jacobians]:
        """The Jacobian is the covariance of the component scores, less the mean precision."""
        responsibility, pull, precision = self._responsibilities(theta, t)
        components = [pull[:, None, k] - (precision[k] * theta)[:, :, None] for k in range(len(precision))]
        weights = responsibility[..., None].unbind(2)
        terms = [weight * component for weight, component in zip(weights, components, strict=True)]
        score = sum(terms[1:], terms[0])
        m = theta.shape[-1]
        jacobian = theta.new_zeros(*score.shape, m)
        for k, low in enumerate(components):
            for other in range(k + 1, len(components)):
                gap = components[other] - low
                weighted = gap * (weights[k] * weights[other])
                jacobian.addcmul_(weighted[..., :, None], gap[..., None, :])
        jacobian.diagonal(dim1=-2, dim2=-1).sub_(responsibility.mT @ precision)
        return score, jacobian

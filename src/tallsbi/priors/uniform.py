"""The uniform prior on a box (appendix D.4 of the paper).

Coordinate by coordinate, theta_0 given theta_t is a normal with centre theta_t / sqrt(alpha) and variance
sigma^2 / alpha, truncated to [low, high]. With z its standardised version and (a, b) the standardised
bounds, the diffused score is E[z] / sigma and the backward variance is (sigma^2 / alpha) Var[z] (Tweedie).
Both come from `truncated_normal_moments`, in float64 for every t.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import Prior, StandardMap, described
from tallsbi.priors.truncated import truncated_normal_moments
from tallsbi.schedule import Schedule
from tallsbi.shapes import Precisions, States


class Uniform(Prior):
    """Independent uniform coordinates on [low, high]."""

    def __init__(self, low: Float[Tensor, "m"], high: Float[Tensor, "m"]) -> None:
        # Priors are made on the CPU and checked there: a copy on a GPU need not wait for it.
        if low.shape != high.shape or (low.device.type == "cpu" and not bool((low < high).all())):
            raise ValueError(
                f"Uniform prior: every lower bound must lie below its upper bound, found "
                f"low={low.tolist()}, high={high.tolist()}."
            )
        self.low, self.high = low, high
        self.dim = low.shape[-1]

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        u = torch.rand(count, self.dim, generator=generator, dtype=self.low.dtype, device=self.low.device)
        return self.low + (self.high - self.low) * u

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        inside = ((theta >= self.low) & (theta <= self.high)).all(-1)
        level = -(self.high - self.low).log().sum()
        return torch.where(inside, level, torch.full_like(level, -torch.inf))

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        _, mean, variance = self._moments(theta, t, schedule)
        score = (mean / schedule.sigma(t)).to(theta.dtype)
        # Truncation can only shrink the variance: the excess is never negative.
        excess = (schedule.alpha(t) / schedule.sigma2(t)) * ((1 - variance) / variance).clamp_min(0)
        return score, torch.diag_embed(excess.to(theta.dtype))

    def diffused_log_prob(self, theta: States, t: float, schedule: Schedule) -> Float[Tensor, "B S"]:
        """Log density of theta_t."""
        log_z, _, _ = self._moments(theta, t, schedule)
        log_volume = (self.high - self.low).double().log().sum()
        return (log_z.sum(-1) - log_volume - 0.5 * self.dim * schedule.log_alpha(t)).to(theta.dtype)

    def covariance(self) -> Float[Tensor, "#B m m"]:
        return torch.diag_embed((self.high - self.low).double().square() / 12)[None]

    def latent_mean(self) -> Float[Tensor, "#B m"]:
        return (self.low.double() + self.high.double())[None] / 2

    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Uniform:
        return Uniform((self.low - mean) / std, (self.high - mean) / std)

    def widened(self, factor: float) -> Uniform:
        """Both bounds times `factor`: the published code doubles the normalised bounds."""
        return Uniform(self.low * factor, self.high * factor)

    def support(self) -> tuple[Float[Tensor, "m"], Float[Tensor, "m"]]:
        return self.low, self.high

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Uniform:
        return Uniform(self.low.to(dtype=dtype, device=device), self.high.to(dtype=dtype, device=device))

    def standard_map(self) -> StandardMap:
        low, high = self.low.double(), self.high.double()
        return StandardMap(low.numpy(), (high - low).numpy(), inner="ndtr")

    def _coordinate_laws(self) -> list[str]:
        pairs = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return [f"Uniform({low:.4g}, {high:.4g})" for low, high in pairs]

    def to_json(self) -> dict[str, Any]:
        return described("Uniform", low=self.low, high=self.high)

    def _moments(self, theta: Tensor, t: float, schedule: Schedule) -> tuple[Tensor, Tensor, Tensor]:
        root, sigma = schedule.sqrt_alpha(t), schedule.sigma(t)
        theta = theta.double()
        a = (root * self.low.double() - theta) / sigma
        b = (root * self.high.double() - theta) / sigma
        return truncated_normal_moments(a, b)

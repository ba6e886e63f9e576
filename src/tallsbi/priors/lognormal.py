"""The log-normal prior: a Gaussian in log space (appendix D.3 of the paper).

theta ~ LogNormal(loc, scale) coordinate by coordinate. The diffusion runs on log theta, where the prior is
N(loc, diag(scale^2)); score and precision are those of that Gaussian.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import StandardMap, described
from tallsbi.priors.gaussian import Gaussian, LatentGaussian


class LogNormal(LatentGaussian):
    """Independent log-normal coordinates."""

    def __init__(self, loc: Float[Tensor, "m"], scale: Float[Tensor, "m"]) -> None:
        if scale.device.type == "cpu" and not bool((scale > 0).all()):
            raise ValueError(f"LogNormal prior: scale must be positive, found {scale.tolist()}.")
        self.loc, self.scale = loc, scale
        self.latent = Gaussian(loc, torch.diag(scale.square()))
        self.dim = self.latent.dim

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        inside = (theta > 0).all(-1)
        log_theta = theta.clamp_min(torch.finfo(theta.dtype).tiny).log()
        density = self.latent.log_prob(log_theta) - log_theta.sum(-1)
        return torch.where(inside, density, torch.full_like(density, -torch.inf))

    def moments(self) -> tuple[Float[Tensor, "#B m"], Float[Tensor, "#B m"]]:
        variance = self.scale.double().square()
        mean = (self.loc.double() + variance / 2).exp()
        return mean[None], (mean * variance.expm1().sqrt())[None]

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> LogNormal:
        return LogNormal(self.loc.to(dtype=dtype, device=device), self.scale.to(dtype=dtype, device=device))

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return theta.log()

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return latent.exp()

    def standard_map(self) -> StandardMap:
        return StandardMap(self.loc.double().numpy(), self.scale.double().numpy(), outer="exp")

    def _coordinate_laws(self) -> list[str]:
        pairs = zip(self.loc.tolist(), self.scale.tolist(), strict=True)
        return [f"LogNormal({loc:.4g}, {scale:.4g})" for loc, scale in pairs]

    def to_json(self) -> dict[str, Any]:
        return described("LogNormal", loc=self.loc, scale=self.scale)

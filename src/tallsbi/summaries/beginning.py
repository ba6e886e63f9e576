"""Where draws begin: a mixture of widened single posteriors, as a regression has them, and a share of the prior.

The posterior of many observations lies within those of single ones. Tempering has a short way from there, and does not
pass far away parameters where a learnt law may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.samplers.base import Noise
from tallsbi.shapes import States
from tallsbi.summaries.maps import Whitening

_WIDENING = 2.0  # factor on the regression's standard deviations: its tails may be too thin
_PRIOR_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Beginning:
    """J normal laws for each of B datasets, with `mean` and `root` R (R' R is the precision).

    Both are in the coordinates to which `theta` takes parameters.
    """

    theta: Whitening
    mean: Float[Tensor, "B J m"]
    root: Float[Tensor, "B J m m"]

    def draw(self, prior: States, noise: Noise) -> States:
        """Draws of the mixture; its share of the prior is taken from `prior`, draws [B, S, m]."""
        B, S, m = prior.shape
        component = (_uniform(noise, B, S) * self.mean.shape[1]).long().clamp_max(self.mean.shape[1] - 1)
        rows = torch.arange(B, device=prior.device)[:, None]
        z = noise(B, S, m).float()[..., None]
        step = torch.linalg.solve_triangular(self.root[rows, component], z, upper=False)[..., 0]
        white = self.mean[rows, component] + _WIDENING * step
        draws = torch.linalg.solve(self.theta.matrix.mT, white.double()[..., None])[..., 0] + self.theta.mean
        from_prior = _uniform(noise, B, S)[..., None] < _PRIOR_SHARE
        return torch.where(from_prior, prior, draws.float())

    def log_prob(self, theta: States, prior: Callable[[Tensor], Tensor]) -> Float[Tensor, "B S"]:
        """Log density of the mixture; `prior` is that of the prior."""
        white = ((theta - self.theta.mean.float()) @ self.theta.matrix.float())[:, :, None]
        departure = torch.einsum("bjkm,bsjm->bsjk", self.root, white - self.mean[:, None]) / _WIDENING
        log_constant = self.root.diagonal(dim1=-2, dim2=-1).log().sum(-1) - theta.shape[-1] * math.log(
            _WIDENING * math.sqrt(2 * math.pi)
        )
        components = log_constant[:, None] - 0.5 * departure.square().sum(-1)
        log_volume = torch.linalg.slogdet(self.theta.matrix)[1].float()
        normals = torch.logsumexp(components, -1) - math.log(components.shape[-1]) + log_volume
        return torch.logaddexp(normals + math.log1p(-_PRIOR_SHARE), prior(theta) + math.log(_PRIOR_SHARE))


def _uniform(noise: Noise, B: int, S: int) -> Float[Tensor, "B S"]:
    return torch.special.ndtr(noise(B, S, 1)[..., 0].float())

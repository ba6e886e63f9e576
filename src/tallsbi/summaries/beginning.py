"""Where draws begin: a mixture of what a regression says of single observations, widened, and a share of the prior.

The posterior of many observations lies within those of single ones, so that tempering has a short way to go, and modes
far away that only a learnt law could mistake for the posterior are not met on it.
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

_WIDTH = 2.0  # standard deviations of the regression: its tails may be too thin
_FROM_PRIOR = 0.05


@dataclass(frozen=True, eq=False)
class Beginning:
    """`mean` and `root` (R' R is the precision) of J normal laws for each of B datasets, where `theta` is white."""

    theta: Whitening
    mean: Float[Tensor, "B J m"]
    root: Float[Tensor, "B J m m"]

    def draw(self, prior: States, noise: Noise) -> States:
        """In place of draws [B, S, m] of the prior, of which a share stays."""
        B, S, m = prior.shape
        component = (_uniform(noise, B, S) * self.mean.shape[1]).long().clamp_max(self.mean.shape[1] - 1)
        rows = torch.arange(B, device=prior.device)[:, None]
        z = noise(B, S, m).float()[..., None]
        step = torch.linalg.solve_triangular(self.root[rows, component], z, upper=False)[..., 0]
        white = self.mean[rows, component] + _WIDTH * step
        back = torch.linalg.solve(self.theta.matrix.mT, white.double()[..., None])[..., 0] + self.theta.mean
        keep = _uniform(noise, B, S)[..., None] < _FROM_PRIOR
        return torch.where(keep, prior, back.float())

    def log_prob(self, theta: States, prior: Callable[[Tensor], Tensor]) -> Float[Tensor, "B S"]:
        """Of these draws; `prior` is the log density of the prior's share."""
        white = ((theta - self.theta.mean.float()) @ self.theta.matrix.float())[:, :, None]
        departure = torch.einsum("bjkm,bsjm->bsjk", self.root, white - self.mean[:, None]) / _WIDTH
        size = self.root.diagonal(dim1=-2, dim2=-1).log().sum(-1) - theta.shape[-1] * math.log(
            _WIDTH * math.sqrt(2 * math.pi)
        )
        single = size[:, None] - 0.5 * departure.square().sum(-1)
        volume = torch.linalg.slogdet(self.theta.matrix)[1].float()
        mixture = torch.logsumexp(single, -1) - math.log(single.shape[-1]) + volume
        return torch.logaddexp(mixture + math.log1p(-_FROM_PRIOR), prior(theta) + math.log(_FROM_PRIOR))


def _uniform(noise: Noise, B: int, S: int) -> Float[Tensor, "B S"]:
    return torch.special.ndtr(noise(B, S, 1)[..., 0].float())

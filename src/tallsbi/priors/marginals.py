"""A prior of independent coordinates, each with a distribution function of its own, made Gaussian.

The diffusion runs on z_i = Phi^-1(F_i(theta_i)), F_i the distribution function of coordinate i and Phi the
standard normal one. There the prior is N(0, I) exactly, with all that is known in closed form for it, and every
draw comes back inside the support. It serves priors that mix kinds, such as a uniform beside a log-normal
coordinate, and kinds that have no diffused score of their own, such as the exponential one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from tallsbi.priors.base import UnsupportedPrior, described
from tallsbi.priors.gaussian import Gaussian, LatentGaussian
from tallsbi.schedule import Schedule
from tallsbi.shapes import Precisions, States

COORDINATES: Mapping[str, tuple[str, ...]] = {
    "Cauchy": ("loc", "scale"),
    "Exponential": ("rate",),
    "Gumbel": ("loc", "scale"),
    "HalfCauchy": ("scale",),
    "HalfNormal": ("scale",),
    "Laplace": ("loc", "scale"),
    "LogNormal": ("loc", "scale"),
    "Normal": ("loc", "scale"),
    "Uniform": ("low", "high"),
}
"""Kinds of a coordinate, with their parameters: those with a distribution function and its inverse."""

_EDGE = 1e-14  # a probability this close to 0 or 1 has no finite normal quantile worth computing with


class Marginals(LatentGaussian):
    """Independent coordinates with distributions that have `cdf` and `icdf`, each of batch shape []."""

    def __init__(self, coordinates: Sequence[Distribution]) -> None:
        self.coordinates = tuple(coordinates)
        self.dim = len(self.coordinates)
        self.latent = Gaussian.standard(self.dim, torch.float64)

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        return super().sample(count, generator).float()

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        columns = []
        for column, coordinate in zip(theta.unbind(-1), self.coordinates, strict=True):
            inside = coordinate.support.check(column)  # type: ignore[union-attr]
            median = coordinate.icdf(torch.tensor(0.5, dtype=torch.float64)).to(column)
            # One rounding inwards: some densities are zero on an edge that rounding can reach.
            density = coordinate.log_prob(torch.where(inside, torch.nextafter(column, median), median))
            columns.append(torch.where(inside, density, -torch.inf))
        return torch.stack(columns, -1).sum(-1)

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        return self.latent.to(dtype=theta.dtype, device=theta.device).score_and_excess(theta, t, schedule)

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Marginals:
        return self  # quantiles are computed in float64 on the CPU whatever the sampler works in

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        columns = [
            torch.special.ndtri(coordinate.cdf(column).clamp(_EDGE, 1 - _EDGE))
            for column, coordinate in zip(theta.double().unbind(-1), self.coordinates, strict=True)
        ]
        return torch.stack(columns, -1).to(theta.dtype)

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        columns = [
            coordinate.icdf(torch.special.ndtr(column).clamp(_EDGE, 1 - _EDGE))
            for column, coordinate in zip(latent.double().unbind(-1), self.coordinates, strict=True)
        ]
        return torch.stack(columns, -1).to(latent.dtype)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "Marginals", "coordinates": [_coordinate_json(c) for c in self.coordinates]}


def _coordinate_json(coordinate: Distribution) -> dict[str, Any]:
    name = type(coordinate).__name__
    if name not in COORDINATES:
        raise UnsupportedPrior(
            f"prior: a coordinate of the kind {name} has no form on disk; use one of {', '.join(COORDINATES)}."
        )
    return described(name, **{key: getattr(coordinate, key) for key in COORDINATES[name]})

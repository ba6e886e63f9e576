"""A prior of coordinates with distributions of their own, made Gaussian.

The diffusion runs on z_i = Phi^-1(F_i(theta_i)), F_i the distribution function of coordinate i and Phi the
standard normal one. There the prior is N(0, I) exactly, or N(0, R) where the coordinates are correlated (a Gaussian
copula), with all that is known in closed form for it, and every draw comes back inside the support. It serves priors
that mix kinds, such as a uniform beside a log-normal coordinate, and kinds that have no diffused score of their own,
such as the exponential one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from tallsbi.priors.base import described
from tallsbi.priors.gaussian import Gaussian, LatentGaussian
from tallsbi.priors.quantile_sources import tabulated
from tallsbi.priors.quantiles import Quantiles
from tallsbi.priors.truncation import Truncated
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
"""Kinds of torch whose distribution function and its inverse are formulas; all others become `Quantiles`."""

_EDGE = 1e-14  # a probability this close to 0 or 1 has no finite normal quantile worth computing with


class ClosedForm:
    """A coordinate of a kind in `COORDINATES`, of batch shape []."""

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution

    def to_latent(self, theta: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return torch.special.ndtri(self.distribution.cdf(theta.double()).clamp(_EDGE, 1 - _EDGE))

    def to_parameter(self, latent: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return self.distribution.icdf(torch.special.ndtr(latent.double()).clamp(_EDGE, 1 - _EDGE))

    def log_prob(self, theta: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        inside = self.distribution.support.check(theta)  # type: ignore[union-attr]
        median = self.distribution.icdf(torch.tensor(0.5, dtype=torch.float64)).to(theta)
        # One rounding inwards: some densities are zero on an edge that rounding can reach.
        density = self.distribution.log_prob(torch.where(inside, torch.nextafter(theta, median), median))
        return torch.where(inside, density, -torch.inf)

    def __repr__(self) -> str:
        name = type(self.distribution).__name__
        numbers = ", ".join(f"{float(getattr(self.distribution, key)):.4g}" for key in COORDINATES[name])
        return f"{name}({numbers})"

    def to_json(self) -> dict[str, Any]:
        name = type(self.distribution).__name__
        return described(name, **{key: getattr(self.distribution, key) for key in COORDINATES[name]})


class Marginals(LatentGaussian):
    """Coordinates with distributions of their own, independent unless a correlation matrix is given.

    `coordinates`: distributions of torch of batch shape [], or anything `tabulated` takes, one number each.
    `correlation` [m, m] is that of the coordinates after each was made standard normal.
    """

    def __init__(
        self, coordinates: Sequence[Any], correlation: Float[Tensor, "m m"] | Sequence | None = None
    ) -> None:
        self.coordinates = tuple(part for given in coordinates for part in _coordinates(given))
        self.dim = len(self.coordinates)
        self.correlation = None
        self.latent = Gaussian.standard(self.dim, torch.float64)
        if correlation is not None:
            self.correlation = torch.as_tensor(correlation).double()
            if self.correlation.shape != (self.dim, self.dim) or bool(
                (self.correlation.diagonal() != 1).any()
            ):
                raise ValueError(
                    f"Marginals(correlation={correlation}): give a matrix [{self.dim}, {self.dim}] with ones on its "
                    "diagonal."
                )
            self.latent = Gaussian(torch.zeros(self.dim, dtype=torch.float64), self.correlation)

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        return super().sample(count, generator).float()

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        columns = [c.log_prob(column) for column, c in zip(theta.unbind(-1), self.coordinates, strict=True)]
        density = torch.stack(columns, -1).sum(-1)
        if self.correlation is None:
            return density
        z = self.to_latent(theta.double())
        copula = self.latent.log_prob(z) - Gaussian.standard(self.dim, torch.float64).log_prob(z)
        return torch.where(density.isfinite(), density + copula, density)

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        return self.latent.to(dtype=theta.dtype, device=theta.device).score_and_excess(theta, t, schedule)

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Marginals:
        return self  # quantiles are computed in float64 on the CPU whatever the sampler works in

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        columns = [c.to_latent(column) for column, c in zip(theta.unbind(-1), self.coordinates, strict=True)]
        return torch.stack(columns, -1).to(theta.dtype)

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        columns = [c.to_parameter(z) for z, c in zip(latent.unbind(-1), self.coordinates, strict=True)]
        return torch.stack(columns, -1).to(latent.dtype)

    def _coordinate_laws(self) -> list[str]:
        return [str(coordinate) for coordinate in self.coordinates]

    def to_json(self) -> dict[str, Any]:
        correlation = {} if self.correlation is None else {"correlation": self.correlation.tolist()}
        return {"kind": "Marginals", "coordinates": [c.to_json() for c in self.coordinates], **correlation}


def _coordinates(given: Any) -> Sequence[ClosedForm | Quantiles]:
    if isinstance(given, (ClosedForm, Quantiles)):
        return [given]
    if isinstance(given, Truncated):
        return given.tables
    closed = type(given).__name__ in COORDINATES and type(given).__module__.startswith("torch.distributions.")
    return [ClosedForm(given)] if closed and not given.batch_shape else tabulated(given)

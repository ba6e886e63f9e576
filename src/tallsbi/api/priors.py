"""Priors of other packages as priors of tallsbi, and priors as JSON.

Supported: tallsbi's own; `MultivariateNormal`, `Normal`, `LogNormal` and `Uniform` of torch, alone or inside
`Independent`; `BoxUniform` of sbi; and independent coordinates of any kinds in `COORDINATES`, alone, inside
`Independent`, or mixed in a list or in sbi's `MultipleIndependent`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch import distributions as td

from tallsbi.api.marginals import Marginals
from tallsbi.priors import Gaussian, LogNormal, Prior, Uniform

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

_SUPPORTED = (
    "supported are tallsbi.priors (Gaussian, LogNormal, Uniform), torch's MultivariateNormal, independent "
    f"coordinates of torch's {', '.join(COORDINATES)}, also inside Independent and as a list, and sbi's BoxUniform "
    "and MultipleIndependent of these. Infer a transform of the parameter that has such a prior, or approximate it "
    "by one"
)


class UnsupportedPrior(ValueError):
    """There is no diffused score for this prior."""


def as_prior(prior: Any) -> Prior:
    """The prior of tallsbi that is the same distribution; `UnsupportedPrior` where there is none."""
    if isinstance(prior, Prior):
        if getattr(prior, "mean", torch.zeros(1)).shape[0] != 1:
            raise UnsupportedPrior("prior: this Gaussian is one prior per dataset; give a single one.")
        return prior
    if isinstance(prior, (td.MultivariateNormal, td.LowRankMultivariateNormal)):
        if prior.batch_shape:
            raise UnsupportedPrior(
                f"prior: {type(prior).__name__} has batch shape {tuple(prior.batch_shape)}; give one distribution, "
                "with a mean [m] and a covariance [m, m]."
            )
        return Gaussian(prior.loc.detach().clone(), prior.covariance_matrix.detach().clone())
    coordinates = _coordinates(prior)
    kinds = {type(coordinate) for coordinate in coordinates}
    if kinds == {td.Normal}:
        return Gaussian(_stacked(coordinates, "loc"), torch.diag(_stacked(coordinates, "scale").square()))
    if kinds == {td.LogNormal}:
        return LogNormal(_stacked(coordinates, "loc"), _stacked(coordinates, "scale"))
    if kinds == {td.Uniform}:
        return Uniform(_stacked(coordinates, "low"), _stacked(coordinates, "high"))
    return Marginals(coordinates)


def _coordinates(prior: Any) -> list[td.Distribution]:
    """Scalar distributions, one per coordinate."""
    if isinstance(prior, td.Independent):
        return _coordinates(prior.base_dist)
    parts = prior if isinstance(prior, (list, tuple)) else getattr(prior, "dists", None)  # as sbi calls them
    if parts:
        return [coordinate for part in parts for coordinate in _coordinates(part)]
    name = type(prior).__name__
    if not isinstance(prior, td.Distribution) or type(prior) is not getattr(td, name, None):
        what = f"{type(prior).__module__}.{name}"
    elif name not in COORDINATES:
        what = f"torch.distributions.{name}"
    elif len(prior.batch_shape) > 1:
        raise UnsupportedPrior(
            f"prior: {name} has batch shape {tuple(prior.batch_shape)}; a prior is over one vector, shape [m]."
        )
    else:
        values = [torch.atleast_1d(getattr(prior, key)).detach() for key in COORDINATES[name]]
        return [type(prior)(*row) for row in zip(*values, strict=True)]
    raise UnsupportedPrior(f"prior: {what} is not supported; {_SUPPORTED}.")


def _stacked(coordinates: list[td.Distribution], parameter: str) -> Tensor:
    return torch.stack([getattr(coordinate, parameter) for coordinate in coordinates])


def latent_moments(prior: Prior) -> tuple[Float[Tensor, "m"], Float[Tensor, "m"]] | None:
    """Mean and standard deviation of every coordinate, in the space of `to_latent`; None for an unknown prior."""
    if isinstance(prior, Uniform):
        low, high = prior.low.double(), prior.high.double()
        return (low + high) / 2, (high - low) / math.sqrt(12)
    latent = getattr(prior, "latent", prior)
    if not isinstance(latent, Gaussian):
        return None
    return latent.mean[0].double(), latent.cov[0].double().diagonal().sqrt()


def to_json(prior: Prior) -> dict[str, Any]:
    """A description `from_json` makes the prior of again, to the last digit."""
    if isinstance(prior, Gaussian):
        return {"kind": "Gaussian", **_numbers(mean=prior.mean[0], cov=prior.cov[0])}
    if isinstance(prior, LogNormal):
        return {"kind": "LogNormal", **_numbers(loc=prior.loc, scale=prior.scale)}
    if isinstance(prior, Uniform):
        return {"kind": "Uniform", **_numbers(low=prior.low, high=prior.high)}
    if isinstance(prior, Marginals):
        return {"kind": "Marginals", "coordinates": [_coordinate_json(c) for c in prior.coordinates]}
    raise UnsupportedPrior(f"prior: {type(prior).__name__} has no form on disk; {_SUPPORTED}.")


def _coordinate_json(coordinate: td.Distribution) -> dict[str, Any]:
    name = type(coordinate).__name__
    return {"kind": name, **_numbers(**{key: getattr(coordinate, key) for key in COORDINATES[name]})}


def _numbers(**tensors: Tensor) -> dict[str, Any]:
    dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    return {"dtype": dtype, **{name: tensor.tolist() for name, tensor in tensors.items()}}


def from_json(description: Mapping[str, Any]) -> Prior:
    """The prior `to_json` described; KeyError, TypeError or ValueError for anything else."""
    kind = description["kind"]
    if kind == "Marginals":
        return Marginals([_coordinate_from_json(part) for part in description["coordinates"]])
    kinds = {"Gaussian": Gaussian, "LogNormal": LogNormal, "Uniform": Uniform}
    if kind not in kinds:
        raise ValueError(f"there is no prior {kind!r}")
    return kinds[kind](**_tensors(description))


def _coordinate_from_json(description: Mapping[str, Any]) -> td.Distribution:
    if description["kind"] not in COORDINATES:
        raise ValueError(f"there is no coordinate {description['kind']!r}")
    return getattr(td, description["kind"])(**_tensors(description))


def _tensors(description: Mapping[str, Any]) -> dict[str, Tensor]:
    dtype = {"float32": torch.float32, "float64": torch.float64}[description["dtype"]]
    return {
        key: torch.tensor(value, dtype=dtype)
        for key, value in description.items()
        if key not in ("kind", "dtype")
    }

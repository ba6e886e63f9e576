"""Priors of other packages as priors of tallsbi.

Supported: tallsbi's own; of torch `MultivariateNormal`, any distribution of one number with a `cdf` (and Beta,
StudentT and FisherSnedecor), a batch [m] of it, alone or inside `Independent`, and any of these pushed through
transforms (`TransformedDistribution`); of sbi `BoxUniform` and `MultipleIndependent`; scipy's frozen distributions; any
object with `cdf` and `icdf` (or `ppf`); lists of all these, side by side, and dictionaries, which name the coordinates.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch import distributions as td

from tallsbi.priors.base import Prior, UnsupportedPrior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import COORDINATES, ClosedForm, Marginals
from tallsbi.priors.pushed import Blocks, Transformed
from tallsbi.priors.quantiles import Quantiles
from tallsbi.priors.truncation import Truncated
from tallsbi.priors.uniform import Uniform

_SUPPORTED = (
    "supported are torch's MultivariateNormal, distributions of one number with a distribution function (of torch, "
    "of scipy.stats, or any object with `cdf` and `icdf`), batches [m] of these, transforms of these, sbi's BoxUniform "
    "and MultipleIndependent, tallsbi's Gaussian, LogNormal, Uniform, Marginals and Truncated, and lists and "
    "dictionaries of all these. Infer a transform of the parameter that has such a prior, or approximate it by one"
)


def as_prior(prior: Any) -> Prior:
    """The prior of tallsbi that is the same distribution; `UnsupportedPrior` where there is none."""
    if isinstance(prior, Prior):
        if len(prior.covariance()) != 1:
            raise UnsupportedPrior(
                f"prior: this {type(prior).__name__} is one prior per dataset; give a single one."
            )
        return prior
    if isinstance(prior, Mapping) and prior:
        priors = [as_prior(part) for part in prior.values()]
        return _joined(priors).named(
            [name for key, part in zip(prior, priors, strict=True) for name in _names(str(key), part.dim)]
        )
    # `dists`: of sbi's MultipleIndependent.
    parts = prior if isinstance(prior, (list, tuple)) else getattr(prior, "dists", None)
    if parts:
        return _joined([as_prior(part) for part in parts])
    if isinstance(prior, td.Independent):
        return as_prior(prior.base_dist)
    gaussian = _gaussian(prior)
    if gaussian is not None:
        return gaussian
    if type(prior) is td.TransformedDistribution:
        base = as_prior(prior.base_dist)
        base = Marginals(_marginals(base) or []) if isinstance(base, Uniform) else base
        return Transformed(base, td.ComposeTransform(prior.transforms))
    return _of_coordinates(_coordinates(prior))


def _gaussian(prior: Any) -> Gaussian | None:
    """Correlated Gaussians of torch and scipy."""
    if isinstance(prior, (td.MultivariateNormal, td.LowRankMultivariateNormal)):
        if prior.batch_shape:
            raise UnsupportedPrior(
                f"prior: {type(prior).__name__} has batch shape {tuple(prior.batch_shape)}; give one distribution, "
                "with a mean [m] and a covariance [m, m]."
            )
        return Gaussian(prior.loc.detach().clone(), prior.covariance_matrix.detach().clone())
    if type(prior).__name__ == "multivariate_normal_frozen":
        return Gaussian(torch.tensor(prior.mean).double(), torch.tensor(prior.cov).double())
    return None


Coordinate = ClosedForm | Quantiles


def _coordinates(prior: Any) -> Sequence[Coordinate]:
    """One per number."""
    name, of_torch = type(prior).__name__, type(prior).__module__.startswith("torch.distributions.")
    if len(getattr(prior, "batch_shape", ())) > 1:
        raise UnsupportedPrior(
            f"prior: {name} has batch shape {tuple(prior.batch_shape)}; a prior is over one vector, shape [m]."
        )
    family = getattr(getattr(prior, "dist", None), "name", None)  # of scipy's frozen distributions
    if family in ("norm", "uniform", "lognorm"):
        closed = _closed_of_scipy(prior, family)
        if closed is not None:
            return closed
    if of_torch and name in COORDINATES:
        values = [torch.atleast_1d(getattr(prior, key)).detach() for key in COORDINATES[name]]
        return [ClosedForm(type(prior)(*row)) for row in zip(*values, strict=True)]
    has_cdf = isinstance(prior, (td.Distribution, Truncated)) or callable(getattr(prior, "cdf", None))
    if inspect.isroutine(prior):
        raise UnsupportedPrior(
            f"prior: {getattr(prior, '__name__', 'it')} is a function; the prior comes first and the simulator second, "
            "fit(prior, simulator), and a prior is a distribution: its draws alone do not tell its density."
        )
    if not has_cdf and not callable(getattr(prior, "ppf", getattr(prior, "icdf", None))):
        raise UnsupportedPrior(f"prior: {type(prior).__module__}.{name} is not supported; {_SUPPORTED}.")
    if getattr(prior, "event_shape", ()):
        raise UnsupportedPrior(f"prior: torch.distributions.{name} is not supported; {_SUPPORTED}.")
    return Marginals([prior]).coordinates


def _closed_of_scipy(prior: Any, family: str) -> Sequence[Coordinate] | None:
    """Families of scipy that are formulas here, and not tables of quantiles; None where parameters do not allow it."""
    shapes, loc, scale = prior.dist._parse_args(*prior.args, **prior.kwds)
    rows = torch.stack(
        torch.broadcast_tensors(
            *(torch.atleast_1d(torch.as_tensor(v).double()) for v in (*shapes, loc, scale))
        )
    ).unbind(1)
    if family == "norm":
        return [ClosedForm(td.Normal(loc, scale)) for loc, scale in rows]
    if family == "uniform":
        return [ClosedForm(td.Uniform(loc, loc + scale)) for loc, scale in rows]
    if any(bool(row[1] != 0) for row in rows):
        return None  # a log-normal that begins elsewhere than at 0
    return [ClosedForm(td.LogNormal(scale.log(), shape)) for shape, _, scale in rows]


def _of_coordinates(coordinates: Sequence[Coordinate]) -> Prior:
    """A prior with a diffused score of its own where all coordinates are of one kind that has it, else `Marginals`."""
    closed = [c.distribution for c in coordinates if isinstance(c, ClosedForm)]
    kinds = {type(distribution) for distribution in closed} if len(closed) == len(coordinates) else set()
    if kinds == {td.Normal}:
        return Gaussian(_stacked(closed, "loc"), torch.diag(_stacked(closed, "scale").square()))
    if kinds == {td.LogNormal}:
        return LogNormal(_stacked(closed, "loc"), _stacked(closed, "scale"))
    if kinds == {td.Uniform}:
        return Uniform(_stacked(closed, "low"), _stacked(closed, "high"))
    return Marginals(coordinates)


def _joined(parts: Sequence[Prior]) -> Prior:
    """Independent priors side by side."""
    coordinates = [_marginals(part) for part in parts]
    if all(marginals is not None for marginals in coordinates):
        return _of_coordinates([c for part in coordinates for c in part or []])
    return Blocks(
        [Marginals(c) if c and isinstance(p, Uniform) else p for p, c in zip(parts, coordinates, strict=True)]
    )


def _marginals(prior: Prior) -> Sequence[Coordinate] | None:
    """The coordinates of a prior where they are independent, None where they are not."""
    if isinstance(prior, Marginals):
        return prior.coordinates if prior.correlation is None else None
    if isinstance(prior, Uniform):
        return [ClosedForm(td.Uniform(*row)) for row in zip(prior.low, prior.high, strict=True)]
    if isinstance(prior, LogNormal):
        return [ClosedForm(td.LogNormal(*row)) for row in zip(prior.loc, prior.scale, strict=True)]
    if isinstance(prior, Gaussian):
        deviations = prior.cov[0].diagonal().sqrt()
        if bool((prior.cov[0] == torch.diag(deviations.square())).all()) or prior.dim == 1:
            return [ClosedForm(td.Normal(*row)) for row in zip(prior.mean[0], deviations, strict=True)]
    return None


def _names(key: str, dim: int) -> list[str]:
    return [key] if dim == 1 else [f"{key}[{i}]" for i in range(dim)]


def _stacked(coordinates: Sequence[td.Distribution], parameter: str) -> Tensor:
    values = [getattr(coordinate, parameter) for coordinate in coordinates]
    dtype = torch.float64 if any(value.dtype == torch.float64 for value in values) else values[0].dtype
    return torch.stack([value.to(dtype) for value in values])

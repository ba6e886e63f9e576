"""Priors of other packages as priors of tallsbi.

Supported: tallsbi's own; `MultivariateNormal`, `Normal`, `LogNormal` and `Uniform` of torch, alone or inside
`Independent`; `BoxUniform` of sbi; and independent coordinates of any kinds in `COORDINATES`, alone, inside
`Independent`, or mixed in a list or in sbi's `MultipleIndependent`.
"""

from typing import Any

import torch
from torch import Tensor
from torch import distributions as td

from tallsbi.priors.base import Prior, UnsupportedPrior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import COORDINATES, Marginals
from tallsbi.priors.uniform import Uniform

_SUPPORTED = (
    "supported are tallsbi.priors (Gaussian, LogNormal, Uniform), torch's MultivariateNormal, independent "
    f"coordinates of torch's {', '.join(COORDINATES)}, also inside Independent and as a list, and sbi's BoxUniform "
    "and MultipleIndependent of these. Infer a transform of the parameter that has such a prior, or approximate it "
    "by one"
)


def as_prior(prior: Any) -> Prior:
    """The prior of tallsbi that is the same distribution; `UnsupportedPrior` where there is none."""
    if isinstance(prior, Prior):
        if len(prior.covariance()) != 1:
            raise UnsupportedPrior(
                f"prior: this {type(prior).__name__} is one prior per dataset; give a single one."
            )
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

"""How runs went: variables of the datasets with draws, and columns of the tidy tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from tallsbi.metrics.validity import lost_share, usable_draws
from tallsbi.priors.base import Prior

if TYPE_CHECKING:
    import xarray as xr

HEALTH = ("lost_definiteness", "lost_definiteness_time", "nonfinite", "nonfinite_time")
"""As in `tallsbi.samplers.base.Health`."""


def prior_variables(prior: Prior, axis: str) -> dict[str, Any]:
    """Mean and standard deviation of the prior, by which draws count as lost; along `axis` if every dataset has its
    own prior."""
    values = {
        name: part.numpy() for name, part in zip(("prior_mean", "prior_std"), prior.moments(), strict=True)
    }
    return {
        name: ("parameter", part[0]) if len(part) == 1 else ((axis, "parameter"), part)
        for name, part in values.items()
    }


def usable(run: xr.Dataset) -> Bool[np.ndarray, "*runs S"]:
    """Which draws of a dataset are not lost."""
    import xarray as xr

    theta, mean, std = xr.broadcast(run["theta"], run["prior_mean"], run["prior_std"])
    return usable_draws(theta.values, mean.values, std.values)


def health_columns(cell: xr.Dataset) -> dict[str, Any]:
    """The share of lost draws of one run, and its `HEALTH`."""
    return {"lost_share": lost_share(usable(cell)), **{key: cell[key].item() for key in HEALTH}}

"""Draws in the format ArviZ plots and summarises: `InferenceData`, or a `DataTree` since ArviZ 1.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxtyping import Float
from torch import Tensor

import tallsbi
from tallsbi.api import extras, inputs
from tallsbi.api.inputs import METHOD

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior


def inference_data(
    self: TallPosterior,
    x_obs: Any,
    n_samples: int = 1000,
    method: str = METHOD,
    *,
    names: Sequence[str] | None = None,
    chains: int = 1,
    settings: Mapping[str, Any] | None = None,
    clip: float = 3.0,
    seed: int = 0,
) -> Any:
    """`sample` as ArviZ `InferenceData` (a `DataTree` for ArviZ 1.0 and newer), with the observations.

    One variable per name in `names` (those of the prior, or theta_0, theta_1, ...), with dimensions chain and draw,
    and dataset for [B, n, d]. The draws are independent: they are one chain, or are dealt out to `chains` of them for
    tools that compare chains.
    """
    extras.require("arviz", "arviz", "xarray")
    names, flat = self.names_of(names), self.layout.flat(x_obs)
    if inputs.count(n_samples, "n_samples") % inputs.count(chains, "chains"):
        raise ValueError(
            f"chains = {chains}: {n_samples} draws cannot be dealt out evenly; change one of them."
        )
    theta = self.sample(x_obs, n_samples, method, settings=settings, clip=clip, seed=seed)
    observed = flat if len(self.layout.shape) == 1 else flat[..., : self.layout.numbers]
    if len(self.layout.shape) > 1:
        observed = observed.unflatten(-1, self.layout.shape)
    return _grouped(theta, observed, names, chains, {"method": method, "seed": seed})


def _grouped(
    theta: Float[Tensor, "*B S m"],
    x: Float[Tensor, "*B n ..."],
    names: Sequence[str],
    chains: int,
    attributes: Mapping[str, Any],
) -> Any:
    """The groups `posterior` and `observed_data`."""
    import arviz
    import xarray as xr

    several = theta.ndim == 3
    draws = (theta.movedim(1, 0) if several else theta).unflatten(0, (chains, -1))
    dims = ("chain", "draw", *(("dataset",) if several else ()))
    coords = {"chain": range(chains), "draw": range(draws.shape[1])}
    labels = {"inference_library": "tallsbi", "inference_library_version": tallsbi.__version__}
    posterior = xr.Dataset(
        {name: (dims, draws[..., i].numpy()) for i, name in enumerate(names)},
        coords=coords,
        attrs={**labels, **attributes},
    )
    axis_count = x.ndim - 1 - several
    axes = ("coordinate",) if axis_count == 1 else tuple(f"axis_{i}" for i in range(axis_count))
    observed_dims = (*(("dataset",) if several else ()), "observation", *axes)
    observed = xr.Dataset({"x": (observed_dims, x.numpy())}, attrs=labels)
    # The version decides: since 1.1 the name `InferenceData` answers again, with a warning, and is xarray's DataTree.
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.InferenceData(posterior=posterior, observed_data=observed)
    return xr.DataTree.from_dict({"posterior": posterior, "observed_data": observed})

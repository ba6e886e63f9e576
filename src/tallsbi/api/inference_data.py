"""Draws in the format ArviZ plots and summarises: `InferenceData`, or a `DataTree` since ArviZ 1.0."""

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from jaxtyping import Float
from torch import Tensor

import tallsbi


def inference_data(
    theta: Float[Tensor, "*B S m"],
    x: Float[Tensor, "*B n d"],
    names: Sequence[str],
    attributes: Mapping[str, Any],
) -> Any:
    """The groups `posterior` and `observed_data`."""
    import arviz

    several = theta.ndim == 3
    draws = theta.movedim(1, 0) if several else theta
    dims = ("chain", "draw", *(("dataset",) if several else ()))
    coords = {"chain": [0], "draw": range(draws.shape[0])}
    labels = {"inference_library": "tallsbi", "inference_library_version": tallsbi.__version__}
    posterior = xr.Dataset(
        {name: (dims, draws[..., i].numpy()[None]) for i, name in enumerate(names)},
        coords=coords,
        attrs={**labels, **attributes},
    )
    places = (*(("dataset",) if several else ()), "observation", "coordinate")
    observed = xr.Dataset({"x": (places, x.numpy())}, attrs=labels)
    # The version decides: since 1.1 the name `InferenceData` answers again, with a warning, and is xarray's DataTree.
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.InferenceData(posterior=posterior, observed_data=observed)
    return xr.DataTree.from_dict({"posterior": posterior, "observed_data": observed})

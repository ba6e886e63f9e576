"""Partial factorisation of the sbibm posteriors (appendix): draws from groups of observations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tallsbi.random import integer_seed
from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.stages.draws import Datasets
from tallsbi.study.stages.sample import sample

if TYPE_CHECKING:
    import xarray as xr


def sample_groups(
    settings: SizedSampleSettings,
    method: str,
    saved: SavedNetwork,
    encoding: GroupEncoding,
    observations: xr.Dataset,
) -> xr.Dataset:
    """Draws of one method as those of `sample`, for the only n of the settings, with groups as observations."""
    import xarray as xr

    (n,) = settings.n_obs
    rows = encoding.blocks(Datasets.of(observations).block(slice(None), n))
    groups = xr.Dataset(
        {"x": (("set", "observation", "feature"), rows.numpy())}, coords={"set": observations["set"].values}
    )
    # A seed of its own: k groups must not share their noise with k plain observations.
    seed = integer_seed(settings.seed, "sets", encoding.kind, encoding.n_max)
    sizes = {"samples": settings.samples_at(n), "samples_by_n": {}}
    run = sample(replace(settings, seed=seed, n_obs=(rows.shape[1],), **sizes), method, saved, groups)
    return run.assign_coords(n=[n]).assign_attrs(
        n_max=encoding.n_max, encoder=encoding.kind, blocks=rows.shape[1]
    )

"""Partial factorisation of the benchmark's posteriors (appendix): samples from blocks of observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from tallsbi.random import integer_seed
from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.stages.sampling import sample_task

if TYPE_CHECKING:
    import xarray as xr


def sample_sets(
    method: str,
    saved: SavedNetwork,
    encoding: GroupEncoding,
    observations: xr.Dataset,
    n: int,
    n_train: int,
    settings: Mapping[str, Any],
) -> xr.Dataset:
    """Draws of one method as those of `sample_task`, for one n; the blocks are its observations."""
    import xarray as xr

    x = torch.from_numpy(observations["x"].values)
    if x.shape[1] < n:
        raise ValueError(f"n = {n}: there are {x.shape[1]} observations per set; raise sbibm.observations.")
    rows = encoding.blocks(x[:, :n]).numpy()
    blocks = xr.Dataset(
        {"x": (("set", "observation", "feature"), rows)}, coords={"set": observations["set"].values}
    )
    # A seed of its own: k blocks must not share their noise with k plain observations.
    seed = integer_seed(settings["seed"], "sets", encoding.kind, encoding.n_max)
    run = sample_task(saved.task, method, saved, blocks, [rows.shape[1]], n_train, {**settings, "seed": seed})
    return run.assign_coords(n=[n]).assign_attrs(
        n_max=encoding.n_max, encoder=encoding.kind, blocks=rows.shape[1]
    )

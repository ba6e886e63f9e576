"""Partial factorisation of the benchmark's posteriors (appendix): simulations, samples and distances.

N_train counts parameters: a network on sets of n_max observations has a budget of N_train x n_max simulations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from tallsbi.benchmark.distances import distance_table
from tallsbi.benchmark.sampling import sample_task
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.scores.sets import SetEncoding
from tallsbi.study.seeds import integer_seed, numpy_generator
from tallsbi.tasks import load

if TYPE_CHECKING:
    import xarray as xr

UNFACTORED = "none"  # the encoder of n_max = 1, where a set is its only member


def set_simulations(name: str, count: int, members: int, seed: int) -> xr.Dataset:
    """`members` observations of each of `count` training parameters, all with noise of their own.

    A stream per place: fewer parameters and fewer members are both the beginning of more of them.
    """
    import xarray as xr

    task = load(name)
    theta = task.theta_train(count)
    x = np.empty((count, members, task.dim_x), np.float32)
    for place in range(members):
        x[:, place] = task.simulate(
            theta.astype(np.float64), numpy_generator(seed, "sbibm", name, "sets", place)
        )
    return xr.Dataset(
        {
            "theta": (("simulation", "parameter"), theta.astype(np.float32)),
            "x": (("simulation", "member", "feature"), x),
        },
        coords={"parameter": list(task.parameter_names)},
        attrs={"task": name},
    )


def sample_sets(
    method: str,
    saved: SavedNetwork,
    encoding: SetEncoding,
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


def set_distances(
    runs: list[xr.Dataset], reference: xr.Dataset, n: int, n_train: int, settings: Mapping[str, Any]
) -> pd.DataFrame:
    """The table of `distance_table` for samples of several networks, with columns `n_max` and `encoder`."""
    named = {str(index): run for index, run in enumerate(runs)}
    frame = distance_table(named, {n: reference}, n_train, settings)
    attrs = [named[name].attrs for name in frame.method]
    return frame.assign(
        method=[each["method"] for each in attrs],
        n_max=[int(each["n_max"]) for each in attrs],
        encoder=[each["encoder"] for each in attrs],
    )


def partial_table(
    plain: list[pd.DataFrame], sets: list[pd.DataFrame], methods: list[str], n: int
) -> pd.DataFrame:
    """All n_max below each other: `plain` are distances of the ordinary networks, n_max = 1, empty if not shown."""
    ordinary = [
        frame[frame.method.isin(methods) & (frame.n == n)].assign(n_max=1, encoder=UNFACTORED)
        for frame in plain
    ]
    return pd.concat([*ordinary, *sets], ignore_index=True)

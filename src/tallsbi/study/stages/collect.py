"""Tidy tables over all tasks: what the figures and tables of the benchmark are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    import xarray as xr


def loss_table(curves: Iterable[tuple[Mapping[str, Any], pd.DataFrame]], chosen: Mapping) -> pd.DataFrame:
    """Loss curves below each other.

    `curves`: (task, n_train, batch_size, learning_rate as a mapping) and the curve; `chosen`: the batch size
    and learning rate that sample, by (task, n_train).
    """
    frames = []
    for key, curve in curves:
        frame = curve.assign(**key)
        mine = chosen[key["task"], key["n_train"]]
        frame["chosen"] = all(mine[name] == key[name] for name in ("batch_size", "learning_rate"))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def pair_table(sources: Iterable[tuple[str, int, str, xr.Dataset]], index: int) -> pd.DataFrame:
    """Draws of parameter set `index`, a row per draw and parameter, from (task, n, source, dataset)."""
    frames = []
    for task, n, source, dataset in sources:
        theta = dataset["theta"].sel(set=index)
        if "n" in theta.dims:
            theta = theta.sel(n=n)
        frame = theta.drop_vars(["n", "set"], errors="ignore").to_series().rename("value").reset_index()
        frames.append(frame.assign(task=task, n=n, source=source, set=index))
    return pd.concat(frames, ignore_index=True)


def truth_table(observations: Mapping[str, xr.Dataset], index: int) -> pd.DataFrame:
    """The true parameters of set `index`, a row per task and parameter."""
    frames = [
        data["theta"]
        .sel(set=index)
        .drop_vars("set")
        .to_series()
        .rename("value")
        .reset_index()
        .assign(task=task)
        for task, data in observations.items()
    ]
    return pd.concat(frames, ignore_index=True)

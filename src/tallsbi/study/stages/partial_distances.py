"""Partial factorisation of the benchmark's posteriors (appendix): distances to the references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from tallsbi.study.stages.distances import distance_table

if TYPE_CHECKING:
    import xarray as xr

UNFACTORED = "none"  # the encoder of n_max = 1, where a set is its only member


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

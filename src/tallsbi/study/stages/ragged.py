"""Runs in which some n have more draws than others: one dataset, padded where an n has fewer.

`draws` counts those of every n; a dataset without it has the same number for all n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


def joined(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Runs of different n below each other; a single one stays as it is."""
    import xarray as xr

    if len(parts) == 1:
        return parts[0]
    numbered = [
        part.assign(draws=("n", np.full(part.sizes["n"], part.sizes["sample"]))).assign_coords(
            sample=np.arange(part.sizes["sample"])
        )
        for part in parts
    ]
    padded = xr.concat(numbered, "n", join="outer", data_vars="minimal", combine_attrs="identical")
    return padded.drop_vars("sample")


def at(run: xr.Dataset, n: int) -> xr.Dataset:
    """The run given n observations, without what is padding there."""
    cell = run.sel(n=n)
    return cell.isel(sample=slice(int(cell["draws"]))) if "draws" in cell else cell

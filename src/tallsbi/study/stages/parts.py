"""Work that is split into parts of about equal size, each a job of its own, and put together again.

Snakemake names the parts `1-of-5`, `2-of-5`, ... (`scattergather:`). A part depends on what is in it alone, since
every dataset has a random stream of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.storage.files import read_dataset

if TYPE_CHECKING:
    import xarray as xr


def share(size: int, name: str, along: str) -> slice:
    """The places, of `size` along a dimension, that belong to the part `name`."""
    found = re.fullmatch(r"(\d+)-of-(\d+)", name)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"{name!r} names no part: expected one like 1-of-5")
    part, parts = int(found[1]), int(found[2])
    if parts > size:
        raise ValueError(f"cannot split {size} along {along!r} into {parts} parts: choose at most {size}")
    return slice((part - 1) * size // parts, part * size // parts)


def part_of(dataset: xr.Dataset, dim: str, name: str) -> xr.Dataset:
    """The part `name` of a dataset along a dimension; the given one keeps its coordinate, or gets one."""
    size = dataset.sizes[dim]
    labelled = dataset if dim in dataset.coords else dataset.assign_coords({dim: range(size)})
    return labelled.isel({dim: share(size, name, dim)})


def read_joined(names: Sequence[str], paths: Sequence[str | Path], dim: str) -> dict[str, xr.Dataset]:
    """The datasets of every name, each put together from its parts; the paths list the parts name by name."""
    import xarray as xr

    count, rest = divmod(len(paths), len(names))
    if rest or not count:
        raise ValueError(f"{len(paths)} files cannot be the parts of {len(names)} datasets")
    parts = [read_dataset(path) for path in paths]
    grouped = {name: parts[i * count : (i + 1) * count] for i, name in enumerate(names)}
    return {
        name: group[0] if count == 1 else xr.concat(group, dim, combine_attrs="override", join="exact")
        for name, group in grouped.items()
    }

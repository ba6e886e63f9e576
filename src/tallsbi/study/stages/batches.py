"""Work that is split into batches of about equal size, each a job of its own, and put together again.

Snakemake names the batches `1-of-5`, `2-of-5`, ... (`scattergather:`). A batch depends on what is in it alone, since
every dataset has a random stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallsbi.storage.files import read_dataset
from tallsbi.study.settings.batch import share

if TYPE_CHECKING:
    import xarray as xr


def batch_of(dataset: xr.Dataset, dim: str, name: str) -> xr.Dataset:
    """The batch `name` of a dataset along a dimension."""
    return dataset.isel({dim: share(dataset.sizes[dim], name, dim)})


def read_joined(names: Sequence[str], paths: Sequence[str | Path], dim: str) -> dict[str, xr.Dataset]:
    """The dataset of every name, put together from its batches; `paths` are the batches, name by name."""
    import xarray as xr

    count, rest = divmod(len(paths), len(names))
    if rest or not count:
        raise ValueError(f"{len(paths)} files cannot be the batches of {len(names)} datasets")
    batches = [read_dataset(path) for path in paths]
    grouped = {name: batches[i * count : (i + 1) * count] for i, name in enumerate(names)}
    # What has not this dimension is the same in all batches, and stays as it is.
    how: dict[str, Any] = {
        "data_vars": "minimal", "coords": "minimal", "compat": "equals", "combine_attrs": "override", "join": "exact"
    }  # fmt: skip
    return {name: group[0] if count == 1 else xr.concat(group, dim, **how) for name, group in grouped.items()}

"""Batches of a dataset: they cover it once, and put together they are it again."""

import numpy as np
import pytest
import xarray as xr

from tallsbi.storage.files import write_dataset
from tallsbi.study.stages.batches import batch_of, read_joined


def dataset(size: int) -> xr.Dataset:
    return xr.Dataset(
        {
            "x": (("set", "feature"), np.arange(2.0 * size).reshape(size, 2)),
            "draws": ("n", np.array([500, 200])),  # not of a set: the same in every batch
        },
        coords={"set": range(size)},
        attrs={"task": "sir"},
    )


@pytest.mark.parametrize(("size", "batches"), [(25, 5), (25, 4), (7, 7), (3, 1)])
def test_batches_cover_everything_once_and_join_again(size, batches, tmp_path):
    whole = dataset(size)
    pieces = [batch_of(whole, "set", f"{i}-of-{batches}") for i in range(1, batches + 1)]
    sizes = [piece.sizes["set"] for piece in pieces]
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) <= 1
    paths = [tmp_path / f"{i}.nc" for i in range(batches)]
    for piece, path in zip(pieces, paths, strict=True):
        write_dataset(piece, path)
    (joined,) = read_joined(["GAUSS"], paths, "set").values()
    xr.testing.assert_identical(joined, whole)


def test_files_are_batches_name_by_name(tmp_path):
    paths = []
    for name in ("GAUSS", "JAC"):
        for i in (1, 2):
            paths.append(tmp_path / f"{name}-{i}.nc")
            write_dataset(batch_of(dataset(4), "set", f"{i}-of-2").assign_attrs(method=name), paths[-1])
    joined = read_joined(["GAUSS", "JAC"], paths, "set")
    assert {name: whole.attrs["method"] for name, whole in joined.items()} == {"GAUSS": "GAUSS", "JAC": "JAC"}
    assert all(whole.sizes["set"] == 4 for whole in joined.values())
    with pytest.raises(ValueError, match="3 files cannot be the batches of 2 datasets"):
        read_joined(["GAUSS", "JAC"], paths[:3], "set")


@pytest.mark.parametrize("name", ["0-of-2", "3-of-2", "first", "1-of-2\n"])
def test_what_names_no_batch_is_refused(name):
    with pytest.raises(ValueError, match="names no batch"):
        batch_of(dataset(4), "set", name)


def test_more_batches_than_sets_are_refused():
    with pytest.raises(ValueError, match="cannot split 4 along 'set' into 5 batches: choose at most 4"):
        batch_of(dataset(4), "set", "1-of-5")

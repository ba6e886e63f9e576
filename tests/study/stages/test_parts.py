"""Parts of a dataset: they cover it once, and put together they are it again."""

import numpy as np
import pytest
import xarray as xr

from tallsbi.storage.files import write_dataset
from tallsbi.study.stages.parts import part_of, read_joined


def dataset(size: int) -> xr.Dataset:
    return xr.Dataset(
        {"x": (("set", "feature"), np.arange(2.0 * size).reshape(size, 2))}, attrs={"task": "sir"}
    )


@pytest.mark.parametrize(("size", "parts"), [(25, 5), (25, 4), (7, 7), (3, 1)])
def test_parts_cover_everything_once_and_join_again(size, parts, tmp_path):
    whole = dataset(size)
    pieces = [part_of(whole, "set", f"{i}-of-{parts}") for i in range(1, parts + 1)]
    sizes = [piece.sizes["set"] for piece in pieces]
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) <= 1
    paths = [tmp_path / f"{i}.nc" for i in range(parts)]
    for piece, path in zip(pieces, paths, strict=True):
        write_dataset(piece, path)
    (joined,) = read_joined(["GAUSS"], paths, "set").values()
    xr.testing.assert_identical(joined, whole.assign_coords(set=range(size)))


def test_files_are_parts_name_by_name(tmp_path):
    paths = []
    for name in ("GAUSS", "JAC"):
        for i in (1, 2):
            paths.append(tmp_path / f"{name}-{i}.nc")
            write_dataset(part_of(dataset(4), "set", f"{i}-of-2").assign_attrs(method=name), paths[-1])
    joined = read_joined(["GAUSS", "JAC"], paths, "set")
    assert {name: one.attrs["method"] for name, one in joined.items()} == {"GAUSS": "GAUSS", "JAC": "JAC"}
    assert all(one.sizes["set"] == 4 for one in joined.values())
    with pytest.raises(ValueError, match="3 files cannot be the parts of 2 datasets"):
        read_joined(["GAUSS", "JAC"], paths[:3], "set")


@pytest.mark.parametrize("name", ["0-of-2", "3-of-2", "first", "1-of-2\n"])
def test_what_names_no_part_is_refused(name):
    with pytest.raises(ValueError, match="names no part"):
        part_of(dataset(4), "set", name)


def test_more_parts_than_sets_are_refused():
    with pytest.raises(ValueError, match="cannot split 4 along 'set' into 5 parts: choose at most 4"):
        part_of(dataset(4), "set", "1-of-5")

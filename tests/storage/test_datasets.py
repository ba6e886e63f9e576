"""Datasets are written with equal bytes, come back as they were, and are named where they are damaged."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from fresh_python import environment

from tallsbi.storage import files
from tallsbi.storage.files import DataError


@pytest.fixture
def dataset() -> xr.Dataset:
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {
            "samples": (("draw", "dim"), rng.normal(size=(50, 3)), {"units": "seconds", "long_name": "x"}),
            "single": ("dim", np.array([1.5, np.nan, np.inf], dtype=np.float32)),
            "flag": ("dim", np.array([True, False, True])),
            "label": ("dim", ["a", "bb", "ü"]),
            "count": ((), 4),
        },
        coords={"draw": np.arange(50), "method": "JAC"},
        attrs={"title": "t", "n": 3, "x": 0.5, "v": np.array([1.0, 2.0])},
    )


def test_dataset_comes_back(tmp_path, dataset):
    files.write_dataset(dataset, tmp_path / "d.nc")
    back = files.read_dataset(tmp_path / "d.nc")
    xr.testing.assert_identical(back.drop_vars("label"), dataset.drop_vars("label"))
    assert back["label"].values.tolist() == ["a", "bb", "ü"]
    assert back["single"].dtype == np.float32
    assert back["flag"].dtype == bool
    assert back["samples"].dtype == np.float64


def test_reading_leaves_the_file_closed(tmp_path, dataset):
    files.write_dataset(dataset, tmp_path / "d.nc")
    back = files.read_dataset(tmp_path / "d.nc")
    (tmp_path / "d.nc").unlink()
    assert float(back["samples"].sum()) == float(dataset["samples"].sum())


def test_rewriting_what_was_read_gives_equal_bytes(tmp_path, dataset):
    files.write_dataset(dataset.drop_vars("label"), tmp_path / "d.nc")
    files.write_dataset(files.read_dataset(tmp_path / "d.nc"), tmp_path / "e.nc")
    assert (tmp_path / "d.nc").read_bytes() == (tmp_path / "e.nc").read_bytes()


def test_encoding_does_not_reach_the_bytes(tmp_path, dataset):
    files.write_dataset(dataset, tmp_path / "d.nc")
    dataset["samples"].encoding = {"zlib": True, "chunksizes": (10, 3)}
    dataset.encoding = {"unlimited_dims": {"draw"}}
    files.write_dataset(dataset, tmp_path / "e.nc")
    assert (tmp_path / "d.nc").read_bytes() == (tmp_path / "e.nc").read_bytes()
    assert dataset["samples"].encoding["zlib"] is True


def test_equal_bytes_in_another_process_and_at_another_time(tmp_path):
    code = (
        "import sys, numpy as np, xarray as xr\n"
        "from tallsbi.storage.files import write_dataset\n"
        "a = (('x', 'y'), np.arange(600.0).reshape(20, 30))\n"
        "write_dataset(xr.Dataset({'a': a, 's': ('x', list('ab' * 10))},"
        " coords={'y': np.arange(30), 'm': 'JAC'}, attrs={'b': 1, 'a': {'k': True}}), sys.argv[1])\n"
    )
    # Two at once in two processes, the second of which waits: times in HDF5 are in seconds.
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import time; time.sleep({1.2 * index})\n" + code,
                str(tmp_path / f"{index}.nc"),
            ],
            env=environment(PYTHONHASHSEED=str(index + 1)),
        )
        for index in range(2)
    ]
    assert [process.wait(timeout=60) for process in started] == [0, 0]
    assert (tmp_path / "0.nc").read_bytes() == (tmp_path / "1.nc").read_bytes()


def test_unsafe_attributes_become_json(tmp_path, dataset):
    attributes = {"b": True, "n": None, "m": {"k": [1, "x"]}, "l": ["a", "b"], "e": "", "f": np.float32(1.5)}
    dataset = dataset.assign_attrs(attributes)
    dataset["samples"].attrs["ok"] = False
    files.write_dataset(dataset, tmp_path / "d.nc")
    back = files.read_dataset(tmp_path / "d.nc")
    expected = {"b": "true", "n": "null", "m": '{"k": [1, "x"]}', "l": '["a", "b"]', "e": "", "f": 1.5}
    assert {name: back.attrs[name] for name in expected} == expected
    assert back["samples"].attrs["ok"] == "false"
    assert dataset.attrs["b"] is True


@pytest.mark.parametrize("keep", [0, 1, 100, -1, -100])
def test_truncated_dataset_is_named(tmp_path, dataset, keep):
    path = tmp_path / "d.nc"
    files.write_dataset(dataset, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"d\.nc.*delete it and rerun"):
        files.read_dataset(path)


def test_changed_numbers_of_a_dataset_are_noticed(tmp_path, dataset):
    path = tmp_path / "c.nc"
    files.write_dataset(dataset, path)
    content, number = path.read_bytes(), dataset.samples.values[7, 1].tobytes()
    assert content.count(number) == 1
    path.write_bytes(content.replace(number, np.float64(0.25).tobytes()))
    with pytest.raises(DataError, match=r"c\.nc is damaged .*delete it and rerun"):
        files.read_dataset(path)


def test_garbage_instead_of_a_dataset_is_named(tmp_path):
    path = tmp_path / "d.nc"
    path.write_bytes(b"not a dataset" * 1000)
    with pytest.raises(DataError, match=r"d\.nc"):
        files.read_dataset(path)


def test_overwritten_metadata_of_a_dataset_is_named(tmp_path, dataset):
    path = tmp_path / "d.nc"
    files.write_dataset(dataset, path)
    content = path.read_bytes()
    path.write_bytes(content[:48] + b"\xff" * 400 + content[448:])
    with pytest.raises(DataError, match=r"d\.nc"):
        files.read_dataset(path)

"""Files appear whole or not at all, with equal bytes, and come back as they were."""

import errno
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallsbi.storage import files
from tallsbi.storage.files import DataError

SOURCES = Path(files.__file__).resolve().parents[2]


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


_WRITERS = {
    "c.nc": "import xarray as xr; files.write_dataset(xr.Dataset({'x': ('i', np.zeros(40_000))}), path)",
    "c.csv": "import pandas as pd; files.write_csv(pd.DataFrame({'x': np.zeros(40_000)}), path)",
    "c.json": "files.write_json(list(range(40_000)), path)",
    "c.txt": "files.write_text('x' * 200_000, path)",
    "c.safetensors": "import torch; write_tensors({'x': torch.zeros(40_000)}, {}, path)",
}


@pytest.mark.parametrize("name", _WRITERS)
def test_no_room_is_said_with_the_path_and_leaves_the_old_file(tmp_path, name):
    """A limit on the size of files stands for a full disk: the write fails half way, in the library that does it."""
    path = tmp_path / name
    path.write_text("old")
    program = f"""
import resource, sys
import numpy as np
from tallsbi.storage import files
from tallsbi.storage.tensors import write_tensors
path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
{_WRITERS[name]}
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert "File too large" in last
    assert "make room" in last
    assert str(path) in last
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]


def test_names_of_temporary_files_are_known_and_no_others(tmp_path):
    for name in ("a.nc", "a.tar.gz", "noise~0.01", "b"):
        with files.atomic_path(tmp_path / name) as temporary:
            assert files.is_temporary(temporary)
            temporary.write_text("x")
    for name in ("a.nc", ".gitkeep", ".a.nc", ".hidden.12-abcd.nc", "a.12-0123abcd.nc"):
        assert not files.is_temporary(tmp_path / name)


# Atomic replacement ---------------------------------------------------------------------------------------


def test_parents_are_made_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a" / "b" / "c.txt"
    with files.atomic_path(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.name.startswith(".")
        assert temporary.suffix == ".txt"
        assert str(os.getpid()) in temporary.name
        temporary.write_text("x")
        assert not path.exists()
    assert path.read_text() == "x"
    assert os.listdir(path.parent) == ["c.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_keeps_the_old_file_and_removes_the_new(tmp_path, error):
    path = tmp_path / "c.txt"
    path.write_text("old")

    def write_half():
        with files.atomic_path(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["c.txt"]


def test_two_writers_do_not_meet(tmp_path):
    path = tmp_path / "c.txt"
    with files.atomic_path(path) as first, files.atomic_path(path) as second:
        assert first != second
        first.write_text("1")
        second.write_text("2")
    assert path.read_text() == "1"


def test_full_disk_on_sync_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_text("x", tmp_path / "c.txt")
    assert os.listdir(tmp_path) == []


def test_full_disk_in_the_middle_of_a_table_leaves_nothing(tmp_path, monkeypatch):
    def half(self, path, **options):
        Path(path).write_text("a,b\n1,")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="No space left"):
        files.write_csv(pd.DataFrame({"a": [1]}), tmp_path / "c.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_full_device_is_reported(tmp_path):
    def write_much():
        with files.atomic_path(tmp_path / "c.txt") as temporary:
            temporary.symlink_to("/dev/full")
            temporary.write_text("x" * 10**6)

    with pytest.raises(OSError, match="No space left"):
        write_much()
    assert os.listdir(tmp_path) == []


# Text and JSON --------------------------------------------------------------------------------------------


def test_text_keeps_line_endings_and_letters(tmp_path):
    files.write_text("ü\nx\r\n", tmp_path / "t.txt")
    assert (tmp_path / "t.txt").read_bytes() == b"\xc3\xbc\nx\r\n"


def test_json_is_sorted_and_plain(tmp_path):
    value = {"b": np.float64(0.1), "a": np.arange(2), "c": Path("x/y"), "d": None}
    files.write_json(value, tmp_path / "v.json")
    text = (tmp_path / "v.json").read_text()
    assert text.index('"a"') < text.index('"b"')
    assert text.endswith("}\n")
    assert files.read_json(tmp_path / "v.json") == {"a": [0, 1], "b": 0.1, "c": "x/y", "d": None}


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float64("nan")])
def test_json_refuses_what_is_not_a_number(tmp_path, value):
    with pytest.raises(ValueError, match=r"v\.json.*None"):
        files.write_json({"a": value}, tmp_path / "v.json")
    assert os.listdir(tmp_path) == []


def test_json_refuses_objects(tmp_path):
    with pytest.raises(TypeError, match="no JSON form"):
        files.write_json({"a": {1, 2}}, tmp_path / "v.json")


def test_damaged_json_is_named(tmp_path):
    (tmp_path / "v.json").write_text('{"a": ')
    with pytest.raises(DataError, match=r"v\.json.*delete it and rerun"):
        files.read_json(tmp_path / "v.json")


# Tables ---------------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(allow_nan=True), st.integers(-(2**62), 2**62)), min_size=1, max_size=8))
def test_numbers_come_back_exactly(tmp_path, rows):
    frame = pd.DataFrame(rows, columns=["z", "a"])
    files.write_csv(frame, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(files.read_csv(tmp_path / "t.csv"), frame, check_exact=True)


def test_words_come_back_as_words(tmp_path):
    frame = pd.DataFrame(
        {"name": ["NA", "None", 'a "quoted", one', "two\nlines"], "flag": [True, False, True, True]}
    )
    files.write_csv(frame, tmp_path / "t.csv")
    back = files.read_csv(tmp_path / "t.csv")
    assert back["name"].tolist() == frame["name"].tolist()
    assert back["flag"].dtype == bool
    assert b"\r" not in (tmp_path / "t.csv").read_bytes()


def test_table_without_rows_keeps_its_columns(tmp_path):
    files.write_csv(pd.DataFrame({"b": [], "a": []}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "b,a\n"
    assert files.read_csv(tmp_path / "t.csv").columns.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\x89HDF\r\n\x1a\n\x00\x00\x00\xff\xfe",
        b"\x00\x00\n",
        b"a,b\n1,2\n3\n",
        b"a,b\n1,2,3\n4,5,6\n",
        b"a,b\n1,2\n3,4",
        b'a,b\n1,"2\n',
    ],
    ids=["empty", "blank", "binary", "zeros", "short line", "long lines", "no last newline", "open quote"],
)
def test_damaged_table_is_named(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"t\.csv.*delete it and rerun"):
        files.read_csv(path)


def test_every_truncation_of_a_table_within_a_line_is_seen(tmp_path):
    path = tmp_path / "t.csv"
    files.write_csv(pd.DataFrame({"a": [1.25, 2.5], "b": ["x", "y"]}), path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        if whole[:length].endswith(b"\n"):
            continue
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            files.read_csv(path)


# Datasets -------------------------------------------------------------------------------------------------


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
            env={**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONHASHSEED": str(index + 1)},
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


@pytest.mark.parametrize("read", [files.read_dataset, files.read_csv, files.read_json])
def test_missing_file_is_not_called_damaged(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="missing"):
        read(tmp_path / "missing")

"""Files appear whole or not at all, whatever ends the writing: errors, interruptions, a full disk."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from fresh_python import environment

from tallsbi.storage import files

WRITERS = {
    "c.nc": "import xarray as xr; files.write_dataset(xr.Dataset({'x': ('i', np.zeros(40_000))}), path)",
    "c.csv": "import pandas as pd; files.write_csv(pd.DataFrame({'x': np.zeros(40_000)}), path)",
    "c.json": "files.write_json(list(range(40_000)), path)",
    "c.txt": "files.write_text('x' * 200_000, path)",
    "c.safetensors": "import torch; write_tensors({'x': torch.zeros(40_000)}, {}, path)",
}


@pytest.mark.parametrize("name", WRITERS)
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
{WRITERS[name]}
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment(NUMBA_DISABLE_JIT="1"),
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

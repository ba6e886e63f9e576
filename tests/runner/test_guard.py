"""A working run is told from a dead one, and what a dead one left is cleared away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tallsbi.runner import guard
from tallsbi.runner.guard import MARK, Busy, Head, NotWritable
from tallsbi.storage import files

HERE = socket.gethostname()


@pytest.fixture
def sleeper(tmp_path):
    """Starts processes in the directory that do nothing, with a mark in their environment."""
    started = []

    def start(mark: str = "", *, name: str = "job", deaf: bool = False) -> subprocess.Popen:
        ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if deaf else ""
        program = tmp_path / name
        program.write_text(f"{ignore}import time; print('up', flush=True); time.sleep(60)\n")
        process = subprocess.Popen(
            [sys.executable, program], cwd=tmp_path, env={**os.environ, MARK: mark}, stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"up\n"
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def record(root: Path, head: Head) -> None:
    (root / guard.HEADS).mkdir(parents=True, exist_ok=True)
    (root / head.file).write_text(
        json.dumps({"run": head.run, "host": head.host, "pid": head.pid, "started": head.started})
    )


def head_of(process: subprocess.Popen, run: str = "smoke") -> Head:
    return Head(run, HERE, process.pid, round(psutil.Process(process.pid).create_time(), 2))


def lock(root: Path) -> Path:
    path = root / guard.LOCKS / "0.output.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("results/smoke/a.nc\n")
    return path


@pytest.fixture
def unlocked(monkeypatch) -> list[Path]:
    """Notes where a lock is opened; Snakemake's own command is tested with the DAG."""
    calls = []
    monkeypatch.setattr(guard, "unlock", calls.append)
    return calls


def test_first_run_has_nothing_to_clear(tmp_path):
    assert guard.prepare(tmp_path, "smoke") == []
    assert list(tmp_path.iterdir()) == []


def test_register_marks_the_jobs_and_release_takes_the_record_away(tmp_path, monkeypatch):
    monkeypatch.setenv(MARK, "")
    guard.register("smoke", tmp_path)
    (head,) = guard.heads(tmp_path)
    assert (head.run, head.pid, head.is_alive) == ("smoke", os.getpid(), True)
    assert os.environ[MARK] == head.token
    guard.release(tmp_path)
    assert guard.heads(tmp_path) == []


def test_working_run_on_the_same_results_is_named(tmp_path, sleeper, unlocked):
    process = sleeper()
    record(tmp_path, head_of(process))
    lock(tmp_path)
    with pytest.raises(Busy, match=rf"results/smoke: process {process.pid} on .*Wait for it to end"):
        guard.prepare(tmp_path, "smoke")
    assert process.poll() is None
    assert unlocked == []


def test_working_run_on_other_results_is_left_alone_with_its_jobs_and_lock(tmp_path, sleeper, unlocked):
    head = head_of(sleeper(), run="laptop")
    record(tmp_path, head)
    job = sleeper(head.token)
    lock(tmp_path)
    assert guard.prepare(tmp_path, "smoke") == []
    assert job.poll() is None
    assert unlocked == []


def test_number_that_another_process_has_now_is_a_dead_head(tmp_path, sleeper, unlocked):
    process = sleeper()
    record(tmp_path, Head("smoke", HERE, process.pid, head_of(process).started - 1000))
    lock(tmp_path)
    notes = guard.prepare(tmp_path, "smoke")
    assert [note for note in notes if "did not end in order" in note]
    assert unlocked == [tmp_path]
    assert guard.heads(tmp_path) == []
    assert process.poll() is None


def test_head_on_another_machine_counts_as_alive_and_the_remedy_is_said(tmp_path, unlocked):
    head = Head("smoke", "elsewhere", 12, 0.0)
    record(tmp_path, head)
    with pytest.raises(
        Busy, match=r"on elsewhere, .*no longer alive on elsewhere, delete .*elsewhere-12\.json"
    ):
        guard.prepare(tmp_path, "smoke")


@pytest.mark.parametrize("deaf", [False, True])
def test_jobs_of_a_dead_head_are_ended_and_no_other_process(tmp_path, sleeper, monkeypatch, deaf):
    monkeypatch.setattr(guard, "GRACE_SECONDS", 1.0)
    dead = Head("smoke", HERE, 2**22 - 1, 1.0)
    record(tmp_path, dead)
    orphan, stranger = sleeper(dead.token, deaf=deaf), sleeper()
    elsewhere = sleeper("elsewhere:12:1.00")  # a job that another machine has submitted
    notes = guard.prepare(tmp_path, "smoke")
    assert "1 processes of a dead run are ended" in notes
    assert not psutil.pid_exists(orphan.pid)
    assert stranger.poll() is None
    assert elsewhere.poll() is None


def test_jobs_of_a_working_head_stay_even_if_its_record_is_lost(tmp_path, sleeper):
    job = sleeper(head_of(sleeper()).token)
    assert guard.prepare(tmp_path, "smoke") == []
    assert job.poll() is None


def test_lock_of_a_snakemake_that_has_no_record_yet_is_respected(tmp_path, sleeper, unlocked):
    lock(tmp_path)
    process = sleeper(name="snakemake")
    with pytest.raises(Busy, match=f"process {process.pid}"):
        guard.prepare(tmp_path, "smoke")
    process.kill()
    process.wait()
    assert guard.prepare(tmp_path, "smoke") == ["the lock it left is removed"]
    assert unlocked == [tmp_path]


def test_half_written_files_are_removed_and_nothing_else(tmp_path):
    folder = tmp_path / "results/smoke/toy"
    folder.mkdir(parents=True)
    kept = [folder / "a.nc", folder / ".gitkeep", tmp_path / "results/other/.a.12-0123abcd.nc"]
    kept[2].parent.mkdir()
    for path in [*kept, folder / ".a.12-0123abcd.nc"]:
        path.write_text("x")
    assert guard.prepare(tmp_path, "smoke") == ["1 half-written files are removed"]
    assert all(path.exists() for path in kept)
    assert not [path for path in folder.iterdir() if files.is_temporary(path)]


def test_unreadable_record_stops_nothing(tmp_path):
    (tmp_path / guard.HEADS).mkdir(parents=True)
    (tmp_path / guard.HEADS / "x-1.json").write_text("{")
    assert guard.prepare(tmp_path, "smoke") == []


def test_place_that_is_no_directory_is_named(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(NotWritable, match=r"Cannot write to .*results.*"):
        guard.prepare(tmp_path, "smoke")

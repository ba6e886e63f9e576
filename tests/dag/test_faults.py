"""Kills, a second run, a full disk, damaged inputs, a read-only place: the same command again gives the same bytes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import h5py
import pytest
from background import (
    CHECKPOINTS,
    CONFIG,
    FOLDER,
    LONGEST_WAIT,
    MOMENTS,
    NETWORK,
    SAMPLES,
    SIMULATIONS,
    TRAINING_LOG,
    EndedEarly,
    Run,
    jobs_of,
    kill_all,
    kill_head,
    kill_job,
    pause,
)

from study import Study, clone, digests
from tallsbi.runner import guard
from tallsbi.storage import files

pytestmark = pytest.mark.dag


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    """The run that nothing disturbs."""
    study = often_saving(tmp_path_factory.mktemp("undisturbed") / "study")
    study.run(SAMPLES, "--config", *CONFIG)
    return study


@pytest.fixture
def study(tmp_path) -> Study:
    return often_saving(tmp_path / "study")


def often_saving(target: Path, **more) -> Study:
    """A clone whose trainings keep their state every tenth of a second: here they take seconds, not hours."""
    study = clone(target, **more)
    study.edit(
        "src/tallsbi/training/loop.py", "checkpoint_seconds: float = 60.0", "checkpoint_seconds: float = 0.1"
    )
    return study


def same_bytes(study: Study, finished: Study) -> bool:
    """Whether all that the undisturbed run has made is there, with equal bytes, and nothing half written."""
    half_written = [path for path in study.root.glob("results/**/.*") if files.is_temporary(path)]
    return not half_written and digests(study) == digests(finished)


def lose_a_step(study: Study) -> None:
    """Removes what a step of the pipeline has made, and all below it, so that there is something to kill again."""
    outputs = [SIMULATIONS, f"{FOLDER}/training", f"{FOLDER}/n_train~200"]
    for output in outputs[MOMENTS.randrange(3) :]:
        path = study.root / output
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_nine_kills_of_head_job_or_all_leave_no_trace(study, finished):
    """Each is followed by the same command: three with a known victim, then six at any moment of the run."""
    first = Run(study)
    first.job("train")
    pause(1.5)
    first.head().kill()
    first.process.wait(LONGEST_WAIT)
    assert any((study.root / ".snakemake/locks").iterdir())

    second = Run(study)
    head = second.head()  # the new head works: by then no job of the old one may be left
    assert not [job for job in jobs_of(study) if head.pid not in [parent.pid for parent in job.parents()]]
    training = second.job("train")
    second.until(lambda: any((study.root / CHECKPOINTS).glob("*")), "checkpoint")
    pause(1)
    training.send_signal(signal.SIGKILL)
    text = second.wait()
    assert "did not end in order" in text
    assert "the lock it left is removed" in text
    assert "FAILED train" in text
    assert not (study.root / NETWORK).exists()

    third = Run(study)
    sampler = third.job("sample")
    assert "training resumed after epoch" in (study.root / TRAINING_LOG).read_text()
    pause(1.5)
    sampler.kill()
    third.wait()
    assert not (study.root / SAMPLES).exists()

    kills = MOMENTS.sample([kill_head, kill_head, kill_all, kill_all, kill_all, kill_job], 6)
    for _ in range(30):
        if not kills:
            break
        run = Run(study)
        with suppress(EndedEarly):
            if kills[-1](run):
                kills.pop()
        if run.process.returncode == 0:  # finished before the kill
            lose_a_step(study)
    assert not kills

    text = Run(study).wait()
    assert same_bytes(study, finished), text[-3000:]
    assert study.planned(SAMPLES, "--config", *CONFIG) == {}
    assert not list(jobs_of(study))
    assert guard.heads(study.root) == []


def test_second_run_is_refused_and_the_first_is_unharmed(study, finished):
    first = Run(study)
    head = first.head()
    again = study.make(CONFIG=shlex.join(CONFIG), ARGS=SAMPLES)
    assert again.returncode != 0
    assert f"Another run works on results/smoke: process {head.pid} on " in again.stderr
    assert "Wait for it to end, or use another directory" in again.stderr
    plain = study.snakemake("--cores", "1", SAMPLES, "--config", *CONFIG)
    assert plain.returncode != 0
    assert "Directory cannot be locked" in plain.stdout + plain.stderr
    assert head.is_running()
    text = first.wait()
    assert same_bytes(study, finished), text[-3000:]


# Places that cannot be written to


@contextmanager
def mounted(folder: Path, options: str):
    """A small file system in memory at `folder`; needs the rights to mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_is_said_and_the_rerun_with_room_finishes(study, finished):
    with mounted(study.root / "results", "size=96k"):
        full = study.snakemake("--cores", "1", SIMULATIONS, "--config", *CONFIG)
        text = full.stdout + full.stderr
        assert full.returncode != 0
        assert "No space left on device: nothing was written; make room" in text
        assert SIMULATIONS in text
        assert not list((study.root / FOLDER).glob("*.nc"))
        assert not list((study.root / FOLDER).glob(".*"))
        subprocess.run(["mount", "-o", "remount,size=64m", str(study.root / "results")], check=True)
        study.run(SIMULATIONS, "--config", *CONFIG)
        assert (study.root / SIMULATIONS).read_bytes() == (finished.root / SIMULATIONS).read_bytes()


@pytest.mark.parametrize("folder", ["results", ".snakemake"])
def test_read_only_place_is_said_before_any_job(study, folder):
    with mounted(study.root / folder, "ro"):
        done = study.make(CONFIG=shlex.join(CONFIG), ARGS=SAMPLES)
    text = done.stdout + done.stderr
    assert done.returncode != 0
    assert f"Cannot write to {study.root / folder}" in text
    assert "Read-only file system" in text
    assert "rule " not in text
    assert "Traceback" not in text


# Damaged inputs: every reader names the file and the remedy. tests/test_security.py holds that there are no others.


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def overwrite(path: Path) -> None:
    """Changes one of the numbers."""
    content = bytearray(path.read_bytes())
    place = len(content) - 8  # safetensors files end with them
    if path.suffix == ".nc":
        with h5py.File(path) as data:
            place = data["x"].id.get_chunk_info(0).byte_offset
    content[place] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damaged", "damage", "target"),
    [
        (SIMULATIONS, cut, NETWORK),
        (NETWORK, overwrite, f"{FOLDER}/n_train~200/network.safetensors"),
        (f"{FOLDER}/observations.nc", overwrite, SAMPLES),
    ],
)
def test_damaged_file_is_named_and_made_again(finished, tmp_path, damaged, damage, target):
    study = often_saving(tmp_path / "study", results_of=finished)
    path = study.root / damaged
    damage(path)
    done = study.snakemake("--cores", "1", target, "--config", *CONFIG)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert damaged in done.stdout + done.stderr
    assert path.read_bytes() == (finished.root / damaged).read_bytes()
    if target == SAMPLES:
        assert same_bytes(study, finished)

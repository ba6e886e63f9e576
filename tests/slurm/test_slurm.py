"""A part of the toy study through the SLURM profile, on a real SLURM with two nodes: `make slurm-test`.

Two runs are disturbed in the ways clusters do it: a job is cancelled, a job needs more memory than it asked for,
the head process is killed. A third uses arrays and the table of partitions. All must end with
the bytes of an undisturbed run on one machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import cluster
import pytest

from study import REPOSITORY, Study, clone
from tallsbi.runner.efficiency import efficiency_table
from tallsbi.runner.plan import planned_jobs

pytestmark = pytest.mark.slurm

CELL = "results/smoke/toy/gaussian-standard/m~2"
LOGS = "results/smoke/logs/toy/gaussian-standard/m~2"
DISTANCES = f"{CELL}/noise~0/distances.csv"
TIMING = "results/smoke/toy/timing/gaussian-wide/m~2.csv"
# One problem, one dimension, two methods.
SETTINGS = (
    "--config",
    "toy={seeds: 1, samples: 20, dims: [2], noise: [0], n_obs: [2], figure_dim: 2, "
    "table: {dim: 2, n_obs: 2, noise: 0}, timing: {dims: [2], n_obs: [2], steps: [50], repeats: 1}}",
    "methods={JAC: {parts: [sbibm]}, DET_GEF: {parts: [sbibm]}, GAUSS_WHITENED: {parts: [sbibm]}}",
    "run=smoke",
)
PROFILE = "workflow/profiles/slurm/config.yaml"
COMMAND = (
    "--profile",
    str(Path(PROFILE).parent),
    # This SLURM has no accounting, which sacct needs; and its jobs are short.
    "--slurm-status-command=squeue",
    "--slurm-init-seconds-before-status-checks=5",
)
# Too little for Snakemake itself, so that it is noticed however fast the job, then enough.
LITTLE_MEMORY = ("--set-resources", "reference_toy:mem_mb=80 * 15 ** (attempt - 1)")
REFERENCE = "rule_reference_toy_wildcards_gaussian-standard_2"
GAUSS = "rule_sample_toy_wildcards_gaussian-standard_2_0_150_GAUSS"
PATIENCE = 600


@pytest.fixture(scope="module", autouse=True)
def slurm() -> Iterator[None]:
    # Also whoever ends the tests by SIGTERM gets the daemons stopped.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with cluster.running():
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Study:
    """The same part of the study, run on this machine without SLURM."""
    study = clone(tmp_path_factory.mktemp("local") / "study")
    study.run(DISTANCES, *SETTINGS)
    return study


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory) -> tuple[Study, list[cluster.Job]]:
    """A finished run of which one job was cancelled and another had too little memory; and its jobs."""
    study = edited(clone(tmp_path_factory.mktemp("disturbed") / "study"))
    with head(study, DISTANCES, TIMING, *LITTLE_MEMORY) as process:
        wait(process, lambda: (study.root / LOGS / "noise~0/T~150/GAUSS.log").exists(), "a job of GAUSS")
        (job,) = [job for job in cluster.jobs() if job.comment == GAUSS]
        assert job.state == "RUNNING"
        subprocess.run(["scancel", str(job.id)], check=True)
        finish(process)
    return study, cluster.jobs()


@pytest.fixture(scope="module")
def recovered(tmp_path_factory) -> tuple[Study, list[cluster.Job]]:
    """A finished run whose first head process was killed, and the jobs of both heads."""
    study = edited(clone(tmp_path_factory.mktemp("recovered") / "study"))
    earlier = {job.id for job in cluster.jobs()}
    with head(study, DISTANCES) as process:
        # Two of the three jobs that can start have a node.
        wait(process, lambda: any((study.root / LOGS).rglob("*.log")), "a job")
        process.kill()
        process.wait()
    orphans = {job.id: job.state for job in cluster.jobs() if job.id not in earlier}
    assert "RUNNING" in orphans.values(), "nothing was running when the head process was killed"
    refused = study.snakemake(DISTANCES, *COMMAND, *SETTINGS)
    assert refused.returncode != 0
    assert "--unlock" in refused.stdout + refused.stderr
    bash(study, documented_recovery())
    ended = {job.state for job in cluster.jobs() if job.id in orphans}
    # A fast job may have ended by itself in the meantime.
    assert ended <= {"CANCELLED", "COMPLETED"}
    with head(study, DISTANCES) as process:
        finish(process)
    return study, [job for job in cluster.jobs() if job.id not in earlier]


@pytest.fixture(scope="module")
def arrayed(tmp_path_factory) -> tuple[Study, list[cluster.Job]]:
    """A finished run with arrays and the table of partitions, in which one job asks for a GPU; and its jobs."""
    study = clone(tmp_path_factory.mktemp("arrayed") / "study")
    for key in ("slurm-partition-config:", "slurm-array-jobs:", "slurm-array-limit:"):
        study.edit(PROFILE, f"# {key}", key)
    table = str(Path(PROFILE).with_name("partitions.yaml"))
    study.edit(table, "  compute:\n", f"  {cluster.PARTITION}:\n")
    study.edit(table, "  gpu:\n", f"  {cluster.GPU_PARTITION}:\n")
    earlier = {job.id for job in cluster.jobs()}
    with head(study, DISTANCES, TIMING, "--set-resources", "time_toy:gpu=1") as process:
        finish(process)
    return study, [job for job in cluster.jobs() if job.id not in earlier]


def test_job_cancelled_by_scancel_is_tried_again(disturbed):
    _, jobs = disturbed
    assert states(jobs, GAUSS) == ["CANCELLED", "COMPLETED"]


def test_job_over_its_memory_is_killed_and_gets_more(disturbed):
    _, jobs = disturbed
    first, second = (job for job in jobs if job.comment == REFERENCE)
    assert first.memory == "80M"
    assert first.state in ("OUT_OF_MEMORY", "CANCELLED", "FAILED")
    assert second.memory == "1200M"
    assert second.state == "COMPLETED"


def test_jobs_that_were_left_alone_ran_once(disturbed):
    _, jobs = disturbed
    others = [job for job in jobs if job.comment not in (GAUSS, REFERENCE)]
    assert sorted(job.comment.split("_wildcards_")[0] for job in others) == [
        "rule_measure_toy",
        "rule_sample_toy",
        "rule_time_toy",
    ]
    assert {job.state for job in others} == {"COMPLETED"}


def test_results_are_those_of_the_local_run(local, disturbed):
    study, _ = disturbed
    assert contents(study) == contents(local)


def test_recovery_runs_no_job_beside_an_orphan_of_it(recovered):
    _, jobs = recovered
    for comment in {job.comment for job in jobs}:
        same = [job for job in jobs if job.comment == comment and job.start != "N/A"]
        for earlier, later in pairwise(same):
            assert earlier.end <= later.start, f"{earlier} and {later} wrote to the same file"


def test_recovered_results_are_whole_and_those_of_the_local_run(local, recovered):
    study, _ = recovered
    assert contents(study) == contents(local)


def test_nothing_is_left_to_do_after_the_recovery(recovered):
    study, _ = recovered
    assert study.planned(DISTANCES, *SETTINGS) == {}


def test_jobs_of_one_rule_are_an_array_with_the_same_results(local, arrayed):
    study, jobs = arrayed
    tasks = {job.task for job in jobs if job.comment.startswith("rule_sample_toy")}
    assert tasks == {"1", "2"}
    assert {job.task for job in jobs if not job.comment.startswith("rule_sample_toy")} == {"N/A"}
    assert {job.state for job in jobs} == {"COMPLETED"}
    assert contents(study) == contents(local)


def test_the_table_sends_each_job_to_its_partition(arrayed):
    _, jobs = arrayed
    places = {job.comment.split("_wildcards_")[0]: job.partition for job in jobs}
    assert places.pop("rule_time_toy") == cluster.GPU_PARTITION
    assert places
    assert set(places.values()) == {cluster.PARTITION}


def test_efficiency_is_known_without_accounting(disturbed):
    study, _ = disturbed
    table = efficiency_table(planned_jobs(study.root, SETTINGS[1:]), study.root).set_index("rule")
    used = table.loc[["reference_toy", "sample_toy", "measure_toy", "time_toy"]]
    assert (used.mib_asked > 0).all()
    assert used.minutes_share.between(0, 1, inclusive="neither").all()
    assert used.mib_share.max() > 0


def edited(study: Study) -> Study:
    """The study after the edit that docs/cluster.md asks for."""
    study.edit(PROFILE, "# slurm_partition: compute ", f"slurm_partition: {cluster.PARTITION} ")
    return study


@contextmanager
def head(study: Study, *arguments: str) -> Iterator[subprocess.Popen]:
    """Snakemake as the user of a cluster starts it; killed at the end if it still runs."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    with open(study.root / "head.log", "a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments, *COMMAND, *SETTINGS],
            cwd=study.root,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    except Exception:
        print((study.root / "head.log").read_text()[-8000:])
        raise
    finally:
        process.kill()
        process.wait()


def wait(process: subprocess.Popen, condition, what: str) -> None:
    cluster.wait_for(lambda: condition() or process.poll() is not None, what, seconds=PATIENCE)
    assert process.poll() is None, f"Snakemake ended before {what}"


def finish(process: subprocess.Popen) -> None:
    assert process.wait(timeout=PATIENCE) == 0


def documented_recovery() -> str:
    """The commands of docs/cluster.md for a head process that was killed."""
    text = (REPOSITORY / "docs/cluster.md").read_text()
    section = text.split("## When the head process was killed\n")[1].split("\n## ")[0]
    block = re.search(r"^(?: {4}.*\n)+", section, flags=re.MULTILINE)
    assert block, "docs/cluster.md has no commands in that section"
    return block[0]


def bash(study: Study, commands: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", commands],
        cwd=study.root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def states(jobs: list[cluster.Job], comment: str) -> list[str]:
    return [job.state for job in jobs if job.comment == comment]


def contents(study: Study) -> dict[str, bytes]:
    """Every file below the cell, hidden ones too: a half-written file would be one more."""
    folder = study.root / CELL
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

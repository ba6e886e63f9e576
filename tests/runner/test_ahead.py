"""What is made first: missing files that unfinished jobs need and finished ones were made from."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tallsbi.runner import ahead, dry_run, origins
from tallsbi.runner.ahead import PendingJob, make_ahead, shared_files
from tallsbi.runner.options import Run


def job(outputs, inputs="", updated=""):
    """Finished, if inputs are `updated`; otherwise it would run for its missing outputs."""
    return PendingJob(
        *(frozenset(paths.split()) for paths in (inputs, outputs, updated)), missing=not updated
    )


REFERENCE = job("reference")
FINISHED = job("distances/1", "samples/1 reference", updated="reference")
UNFINISHED = job("distances/2", "samples/2 reference")


def test_what_a_finished_job_would_run_again_for_comes_first():
    assert shared_files([REFERENCE, FINISHED, UNFINISHED, job("samples/2")]) == {"reference"}


def test_nothing_comes_first_where_no_finished_job_would_run():
    assert shared_files([REFERENCE, UNFINISHED, job("samples/2")]) == set()
    assert shared_files([]) == set()


def test_what_follows_from_a_finished_job_waits_for_the_next_round():
    """Made in the same run as what is above it, the network would have the finished choice made again."""
    jobs = [
        job("simulations"),
        job("choice", "simulations", updated="simulations"),
        job("network", "choice"),
        job("samples", "network", updated="network"),
        job("other", "network simulations"),
    ]
    assert shared_files(jobs) == {"simulations"}


def test_what_finished_jobs_alone_need_is_not_made():
    """Snakemake plans the samples too, but only for the finished job that it would run again."""
    finished = job("distances/1", "samples/1 reference", updated="samples/1 reference")
    jobs = [REFERENCE, finished, UNFINISHED, job("samples/1"), job("samples/2")]
    assert shared_files(jobs) == {"reference"}
    assert shared_files(jobs, asked=["toy", "samples/1"]) == {"reference", "samples/1"}


def test_a_change_of_code_is_a_need_of_its_own():
    changed = PendingJob(frozenset({"reference"}), frozenset({"samples/2"}))
    assert shared_files([REFERENCE, FINISHED, changed]) == {"reference"}


def test_a_finished_job_below_a_finished_one_asks_for_nothing_itself():
    table = job("table", "distances/1", updated="distances/1")
    assert shared_files([REFERENCE, FINISHED, table]) == set()
    assert shared_files([REFERENCE, FINISHED, table, UNFINISHED, job("samples/2")]) == {"reference"}


PRINTED = """
localrule all:
    input: results/trial/a
    reason: Rules with neither input nor output files are always executed.

rule sample:
    input: results/trial/a, results/trial/b
    output: results/trial/c
    log: results/trial/logs/c.log
    reason: Input files updated by another job: results/trial/a, results/trial/b

rule measure:
    input: results/trial/a
    output: results/trial/d
    reason: Missing output files: results/trial/d; Input files updated by another job: results/trial/a

rule collect:
    input: results/trial/a
    output: results/trial/e
    reason: Input files updated by another job: results/trial/a; Params have changed since last execution: x
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "results/trial").mkdir(parents=True)
    for name in "ce":
        (tmp_path / "results/trial" / name).write_text(name)
    return Run(tmp_path, "trial", ("scale=smoke",))


def test_printed_jobs_say_what_they_read_and_write(run):
    assert [rule for rule, _ in dry_run.printed_jobs(PRINTED)] == ["all", "sample", "measure", "collect"]
    targets, first, *others = ahead._pending_jobs(run, PRINTED)
    assert targets == PendingJob(frozenset({"results/trial/a"}), frozenset())
    assert first.outputs == {"results/trial/c"}
    assert first.inputs == first.updated == {"results/trial/a", "results/trial/b"}
    assert [job.updated for job in others] == [frozenset(), frozenset()]
    assert [job.missing for job in others] == [True, False]


def made(run, output, *inputs):
    origins.write_origin(
        origins.Origin("rule", (), inputs, (output,), dict.fromkeys([output, *inputs], "0")),
        run.folder,
        run.root,
    )


class Snakemake:
    """Prints the same plan whenever it is asked, and makes nothing or what it is asked for."""

    def __init__(self, run, monkeypatch, makes=True):
        self.run, self.makes, self.asked = run, makes, []
        monkeypatch.setattr(ahead.subprocess, "run", self.plan)
        monkeypatch.setattr(ahead, "_run_to_end", self.finish)

    def plan(self, command, **_):
        missing = [name for name in "ab" if not (self.run.root / f"results/trial/{name}").exists()]
        jobs = [f"rule make:\n    output: results/trial/{name}\n" for name in missing]
        return subprocess.CompletedProcess(command, 0, "\n".join([PRINTED if missing else "", *jobs]), "")

    def finish(self, command, run):
        self.asked.append(command)
        files = command[command.index("--until") + 1 : command.index("--config")]
        for path in files if self.makes else []:
            (run.root / path).write_text(path)


def test_shared_files_are_made_with_the_options_of_the_run(run, monkeypatch):
    made(run, "results/trial/c", "results/trial/a", "results/trial/b")
    made(run, "results/trial/a")
    made(run, "results/trial/b")
    snakemake = Snakemake(run, monkeypatch)
    assert make_ahead(run, ["--cores", "all", "toy"], ["--logger", "tallsbi"]) is None
    [command] = snakemake.asked
    assert command[1:] == [
        "-m", "snakemake", "--logger", "tallsbi", "--cores", "all", "toy",
        "--until", "results/trial/a", "results/trial/b", "--config", "scale=smoke",
    ]  # fmt: skip


def test_what_cannot_be_made_is_tried_once(run, monkeypatch):
    made(run, "results/trial/c", "results/trial/a")
    made(run, "results/trial/a")
    snakemake = Snakemake(run, monkeypatch, makes=False)
    assert make_ahead(run, [], []) is None
    assert len(snakemake.asked) == 1


def test_whole_and_new_results_ask_snakemake_nothing(run, monkeypatch):
    monkeypatch.setattr(ahead.subprocess, "run", lambda *_, **__: pytest.fail("asked"))
    assert make_ahead(run, [], []) is None  # no record of any job
    made(run, "results/trial/c")
    made(run, "results/trial/d", "results/trial/c")  # lacks nothing but itself
    assert make_ahead(run, [], []) is None


def test_a_request_to_stop_reaches_snakemake_and_ends_the_run(run):
    """The stand-in for Snakemake asks for the stop itself, and ends well when it is told of it."""
    program = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "os.kill(os.getppid(), signal.SIGTERM)\n"
        "time.sleep(60)"
    )
    assert ahead._run_to_end([sys.executable, "-c", program], run) == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_failure_is_left_to_the_run_itself(run):
    assert ahead._run_to_end([sys.executable, "-c", "raise SystemExit(1)"], run) is None
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert ahead._run_to_end([sys.executable, "-c", killed], run) == 128 + signal.SIGKILL

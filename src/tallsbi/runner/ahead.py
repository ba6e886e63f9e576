"""Make missing files first that an unfinished job needs and finished ones were made from.

Results are often copied without their large files (references, samples, networks). The jobs after these files still
count as finished, and nothing asks for the files until an unfinished job needs one. In the same run, Snakemake would
then also repeat all finished jobs after that file: it plans before it knows that the content will be the same. So such
files are made in a run of their own. When the next run starts, their content is known (`tallsbi.runner.recall`), and
finished jobs stay finished.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tallsbi.runner import dry_run, origins
from tallsbi.runner.options import Run

_MOST_ROUNDS = 20
# How Snakemake begins its reasons to run a job.
_UPDATED_INPUTS, _MISSING_OUTPUTS = "Input files updated by another job: ", "Missing output files: "


@dataclass(frozen=True)
class PendingJob:
    """A job that Snakemake would run.

    `updated`: of a finished job, the inputs that other jobs would make again. `missing`: whether it would run only
    because its outputs are missing.
    """

    inputs: frozenset[str]
    outputs: frozenset[str]
    updated: frozenset[str] = frozenset()
    missing: bool = False


def make_ahead(run: Run, arguments: Sequence[str], display: Sequence[str]) -> int | None:
    """Runs Snakemake for the files that must come first, as often as needed; returns an exit code if it was stopped.

    `arguments` are those of the run itself, `display` the options of its display. A file that cannot be made is left
    to that run, which reports the failure.
    """
    tried: set[str] = set()
    snakemake, settings = [sys.executable, "-m", "snakemake"], run.options
    for _ in range(_MOST_ROUNDS):
        if not _lacks_inputs(run):
            return None
        done = subprocess.run(
            [*snakemake, *arguments, *dry_run.OPTIONS, *settings],
            cwd=run.root,
            capture_output=True,
            text=True,
            check=False,
        )
        jobs = [] if done.returncode else _pending_jobs(run, done.stdout + done.stderr)
        wanted = {path for path in shared_files(jobs, arguments) if not (run.root / path).exists()} - tried
        if not wanted:
            return None
        count = "1 missing file" if len(wanted) == 1 else f"{len(wanted)} missing files"
        print(
            f"Making {count} first, from which finished results were made too.", file=sys.stderr, flush=True
        )
        code = _run_to_end([*snakemake, *display, *arguments, "--until", *sorted(wanted), *settings], run)
        if code is not None:
            return code
        tried |= wanted
    return None


def _lacks_inputs(run: Run) -> bool:
    """Whether a file is missing that a finished job was made from; if none is, Snakemake need not be asked."""
    known = origins.read_origins(run.folder, run.root)
    missing = {path for origin in known for path in origin.outputs if not (run.root / path).exists()}
    return any(missing.intersection(origin.inputs) and missing.isdisjoint(origin.outputs) for origin in known)


def _pending_jobs(run: Run, text: str) -> list[PendingJob]:
    jobs = []
    for _, fields in dry_run.printed_jobs(text):
        inputs, outputs = (frozenset(dry_run.paths(fields, name)) for name in ("input", "output"))
        reason, *others = fields.get("reason", "").split("; ")
        updated: list[str] = []
        finished = all((run.root / path).exists() for path in outputs)
        if reason.startswith(_UPDATED_INPUTS) and not others and finished:
            updated = reason.removeprefix(_UPDATED_INPUTS).split(", ")
        missing = reason.startswith(_MISSING_OUTPUTS) and all(
            other.startswith(_UPDATED_INPUTS) for other in others
        )
        jobs.append(PendingJob(inputs, outputs, frozenset(updated), missing))
    return jobs


def shared_files(jobs: Sequence[PendingJob], asked: Collection[str] = ()) -> set[str]:
    """The files that finished and unfinished jobs need, and that can be made without running a finished job.

    `asked`: files that the user names.
    """
    makers = {path: job for job in jobs for path in job.outputs}
    updated = set[str]().union(*(job.updated for job in jobs))
    needed = _needed_files(jobs, makers, asked)
    return {path for path in updated & needed if not _needs_finished(makers[path], makers)}


def _needed_files(
    jobs: Sequence[PendingJob], makers: dict[str, PendingJob], asked: Collection[str]
) -> set[str]:
    """The files that would be made if no finished job ran again, so without those that only such a job needs."""
    used = {path for job in jobs for path in job.inputs}
    waiting = [
        job
        for job in jobs
        if not job.updated and (not job.missing or used.isdisjoint(job.outputs) or job.outputs & set(asked))
    ]
    seen = set(waiting)
    while waiting:
        above = {makers[path] for path in waiting.pop().inputs if path in makers} - seen
        above = {job for job in above if not job.updated}
        seen |= above
        waiting.extend(above)
    return {path for job in seen for path in job.outputs}


def _needs_finished(job: PendingJob, makers: dict[str, PendingJob]) -> bool:
    """Whether this job is finished, or waits for one that is."""
    waiting, seen = [job], {job}
    while waiting:
        current = waiting.pop()
        if current.updated:
            return True
        above = {makers[path] for path in current.inputs if path in makers} - seen
        seen |= above
        waiting.extend(above)
    return False


def _run_to_end(command: Sequence[str], run: Run) -> int | None:
    """Runs Snakemake and passes signals to stop on to it; returns the exit code if a signal stopped it."""
    signals: list[int] = []
    process = subprocess.Popen(command, cwd=run.root)

    def stop(number: int, _frame: object) -> None:
        signals.append(number)
        from_terminal = number == signal.SIGINT and os.getpgid(process.pid) == os.getpgrp()
        if not from_terminal:  # the terminal interrupts Snakemake as well
            process.send_signal(number)

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if signals or code < 0:
        return 128 + (signals[0] if signals else -code)
    return None

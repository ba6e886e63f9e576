"""Make first what finished jobs were made from, where it is missing and an unfinished job needs it.

Results that were copied without what is large (references, samples, networks) are finished all the same, and nobody
misses these files until an unfinished job needs one. In one run Snakemake would then make again everything that was
ever made from it: it plans before it knows that the content will be the same. So such files are made in a run of
their own. When the next run starts, their content is known (`tallsbi.runner.recall`), and what was finished stays.
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

_ROUNDS = 20
# How Snakemake begins its reasons to run a job.
_CAUGHT, _MISSING = "Input files updated by another job: ", "Missing output files: "


@dataclass(frozen=True)
class Planned:
    """A job that Snakemake would run.

    `updated`: if it is finished, the inputs that other jobs would make again; `missing`: if it would run because its
    outputs are missing, and for no other reason.
    """

    inputs: frozenset[str]
    outputs: frozenset[str]
    updated: frozenset[str] = frozenset()
    missing: bool = False


def make_ahead(run: Run, arguments: Sequence[str], shown: Sequence[str]) -> int | None:
    """Runs Snakemake for what must come first, several times if it takes that; an exit code if it was stopped.

    `arguments` are those of the run itself, `shown` those that say how it is shown. A file that cannot be made is left
    to that run, which says so.
    """
    made: set[str] = set()
    snakemake, settings = [sys.executable, "-m", "snakemake"], run.options
    for _ in range(_ROUNDS):
        if not _lacking(run):
            return None
        done = subprocess.run(
            [*snakemake, *arguments, *dry_run.OPTIONS, *settings],
            cwd=run.root,
            capture_output=True,
            text=True,
            check=False,
        )
        jobs = [] if done.returncode else _planned(run, done.stdout + done.stderr)
        first = {path for path in shared(jobs, arguments) if not (run.root / path).exists()} - made
        if not first:
            return None
        what = "1 missing file" if len(first) == 1 else f"{len(first)} missing files"
        print(f"Making {what} first, of which finished results were made too.", file=sys.stderr, flush=True)
        code = _finish([*snakemake, *shown, *arguments, "--until", *sorted(first), *settings], run)
        if code is not None:
            return code
        made |= first
    return None


def _lacking(run: Run) -> bool:
    """Whether a file is missing that something finished was made from: without one there is nothing to look for."""
    known = origins.read_origins(run.folder, run.root)
    missing = {path for origin in known for path in origin.outputs if not (run.root / path).exists()}
    return any(missing.intersection(each.inputs) and missing.isdisjoint(each.outputs) for each in known)


def _planned(run: Run, text: str) -> list[Planned]:
    jobs = []
    for _, fields in dry_run.printed_jobs(text):
        inputs, outputs = (frozenset(dry_run.paths(fields, name)) for name in ("input", "output"))
        first, *others = fields.get("reason", "").split("; ")
        updated: list[str] = []
        if first.startswith(_CAUGHT) and not others and all((run.root / path).exists() for path in outputs):
            updated = first.removeprefix(_CAUGHT).split(", ")
        missing = first.startswith(_MISSING) and all(each.startswith(_CAUGHT) for each in others)
        jobs.append(Planned(inputs, outputs, frozenset(updated), missing))
    return jobs


def shared(jobs: Sequence[Planned], asked: Collection[str] = ()) -> set[str]:
    """The files that finished jobs would run again for, and that can be made without running a finished job.

    `asked`: files that the user names.
    """
    makers = {path: job for job in jobs for path in job.outputs}
    wanted = set[str]().union(*(job.updated for job in jobs))
    needed = _needed(jobs, makers, asked)
    return {path for path in wanted & needed if not _needs_finished(makers[path], makers)}


def _needed(jobs: Sequence[Planned], makers: dict[str, Planned], asked: Collection[str]) -> set[str]:
    """The files that would be made if no finished job ran again: what only such a job needs is not among them."""
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


def _needs_finished(job: Planned, makers: dict[str, Planned]) -> bool:
    """Whether this job is finished, or waits for one that is."""
    waiting, seen = [job], {job}
    while waiting:
        each = waiting.pop()
        if each.updated:
            return True
        above = {makers[path] for path in each.inputs if path in makers} - seen
        seen |= above
        waiting.extend(above)
    return False


def _finish(command: Sequence[str], run: Run) -> int | None:
    """Waits for Snakemake, and hands a request to stop on to it; the exit code if it was stopped by a signal."""
    stopped: list[int] = []
    process = subprocess.Popen(command, cwd=run.root)

    def stop(number: int, _frame: object) -> None:
        stopped.append(number)
        told = number == signal.SIGINT and os.getpgid(process.pid) == os.getpgrp()  # by the terminal itself
        if not told:
            process.send_signal(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stopped or code < 0:
        return 128 + (stopped[0] if stopped else -code)
    return None

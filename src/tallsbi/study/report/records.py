"""Time, cost and origin of a run, from the records of its jobs and from the repository.

Nothing here asks for the present time, so the same files give the same page.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tallsbi.runner.job_records import JobRecord, read_job_record
from tallsbi.study.report.page import Rows

UNKNOWN = "unknown"


@dataclass(frozen=True)
class JobUse:
    """What a job of a part of the study took, and when its record was written."""

    part: str
    record: JobRecord
    written: float


def read_records(folder: Path) -> tuple[JobUse, ...]:
    """The record of every job below a folder, in the order of the paths; the part is the first folder."""
    return tuple(
        JobUse(
            path.relative_to(folder).parts[0].removesuffix(".tsv"),
            read_job_record(path),
            path.stat().st_mtime,
        )
        for path in sorted(folder.rglob("*.tsv"))
    )


def usage(jobs: Sequence[JobUse]) -> Rows:
    """Part of the study, jobs, core-hours, minutes of the longest job, largest memory: the most expensive first."""
    parts = {
        part: [job for job in jobs if job.part == part] for part in dict.fromkeys(job.part for job in jobs)
    }
    by_cost = sorted(parts.items(), key=lambda item: -core_hours(item[1]))
    return tuple((part, str(len(used)), *_use_texts(used)) for part, used in by_cost)


def _use_texts(jobs: Sequence[JobUse]) -> tuple[str, str, str]:
    longest = max(job.record.wall for job in jobs) / 60
    return f"{core_hours(jobs):.2f}", f"{longest:.1f}", f"{peak_memory(jobs):.0f}"


def core_hours(jobs: Sequence[JobUse]) -> float:
    return sum(job.record.processor for job in jobs) / 3600


def peak_memory(jobs: Sequence[JobUse]) -> float:
    """The largest memory of a job, in MB."""
    return max((job.record.memory for job in jobs), default=0.0)


def span(jobs: Sequence[JobUse]) -> tuple[str, str]:
    """When the first job with a record began and the last one ended, UTC to the minute."""
    if not jobs:
        return UNKNOWN, UNKNOWN
    seconds = (min(job.written - job.record.wall for job in jobs), max(job.written for job in jobs))
    began, ended = (datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC") for time in seconds)
    return began, ended


def commit(root: Path) -> str:
    """The commit of the repository, and whether files differ from it; `unknown` without a repository."""
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return f"{head}, with local changes" if changed else head


def _git(root: Path, *arguments: str) -> str:
    # Without the lock, so that a page never disturbs another use of the repository.
    command = ["git", "--no-optional-locks", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()

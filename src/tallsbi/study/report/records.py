"""Time, cost and origin of a run, from the records that are there: benchmark files and the repository.

Nothing here asks for the present time, so the same files give the same page.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tallsbi.runner.job_records import read_job_record
from tallsbi.study.report.page import Usage

UNKNOWN = "unknown"


@dataclass(frozen=True)
class JobUse:
    """One benchmark record: seconds on the clock and of all cores, largest memory, when it was written."""

    part: str
    seconds: float
    core_seconds: float
    peak_mb: float
    written: float


def read_records(folder: Path) -> tuple[JobUse, ...]:
    """Every benchmark record below a folder, in the order of the paths; the part is the first folder."""
    return tuple(
        _record(path, path.relative_to(folder).parts[0].removesuffix(".tsv"))
        for path in sorted(folder.rglob("*.tsv"))
    )


def _record(path: Path, part: str) -> JobUse:
    taken = read_job_record(path)
    return JobUse(part, taken.wall, taken.processor, taken.memory, path.stat().st_mtime)


def usage(records: Iterable[JobUse]) -> tuple[Usage, ...]:
    """Per part of the study, the most expensive first."""
    by_part: dict[str, list[JobUse]] = {}
    for record in records:
        by_part.setdefault(record.part, []).append(record)
    rows = [_sum(part, used) for part, used in by_part.items()]
    return tuple(sorted(rows, key=lambda row: -row.core_hours))


def total(records: Iterable[JobUse]) -> Usage:
    return _sum("all", list(records))


def _sum(part: str, records: list[JobUse]) -> Usage:
    return Usage(
        part=part,
        jobs=len(records),
        core_hours=sum(record.core_seconds for record in records) / 3600,
        longest_minutes=max((record.seconds for record in records), default=0.0) / 60,
        peak_mb=max((record.peak_mb for record in records), default=0.0),
    )


def span(records: Iterable[JobUse]) -> tuple[str, str]:
    """When the first job with a record began and the last one ended, UTC to the minute."""
    times = [(record.written - record.seconds, record.written) for record in records]
    if not times:
        return UNKNOWN, UNKNOWN
    return _minute(min(start for start, _ in times)), _minute(max(end for _, end in times))


def _minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def commit(root: Path) -> str:
    """The commit of the repository, and whether files differ from it; `unknown` without a repository."""
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return f"{head}, with local changes" if changed else head


def _git(root: Path, *arguments: str) -> str:
    # Without the lock, so that a page never disturbs what its user does in the repository meanwhile.
    command = ["git", "--no-optional-locks", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()

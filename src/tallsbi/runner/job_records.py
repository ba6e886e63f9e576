"""Snakemake's records of jobs (its `benchmark:` files): what one job took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tallsbi.storage.files import DataError


@dataclass(frozen=True)
class JobRecord:
    """Seconds on the clock and of processor time, and the peak memory in MiB (0: not seen)."""

    wall: float
    processor: float
    memory: float


def read_job_record(path: str | Path) -> JobRecord:
    """The last record of a file; a damaged one gives a `DataError`."""
    path = Path(path)
    try:
        header, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        row = dict(zip(header, rows[-1], strict=True))
        wall, cpu_time, memory = (_number(row[key]) for key in ("s", "cpu_time", "max_rss"))
    except (ValueError, KeyError, IndexError) as error:
        raise DataError(
            f"{path} is damaged ({error!r}): delete it, and its job runs again when it is asked for"
        ) from error
    # The time after Snakemake's last look is added in proportion. Of a job that ended before the first look, only the
    # time on the clock is known.
    processor = cpu_time * wall / _last_look(wall)
    return JobRecord(wall, processor if processor > 0.3 * wall else wall, memory)


def _last_look(wall: float) -> float:
    """When Snakemake last looked at a job: every half second for 15 seconds, then every 30 seconds."""
    first_phase, interval = 15.5, 30.0
    return wall if wall < first_phase else first_phase + interval * ((wall - first_phase) // interval)


def _number(text: str) -> float:
    return 0.0 if text in ("NA", "-") else float(text)

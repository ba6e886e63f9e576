"""Snakemake's benchmark records: what one job has taken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tallsbi.storage.files import DataError


@dataclass(frozen=True)
class JobRecord:
    """Seconds on the clock and of processor time, and the peak of its memory in MiB (0: not seen)."""

    wall: float
    processor: float
    memory: float


def read_job_record(path: str | Path) -> JobRecord:
    """The last record of a file; a damaged one gives a `DataError`."""
    path = Path(path)
    try:
        header, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        row = dict(zip(header, rows[-1], strict=True))
        wall, used, memory = (_number(row[key]) for key in ("s", "cpu_time", "max_rss"))
    except (ValueError, KeyError, IndexError) as error:
        raise DataError(
            f"{path} is damaged ({error!r}): delete it, and its job runs again when it is asked for"
        ) from error
    # What came after Snakemake's last look is added in proportion. A job that was over before the first has only
    # its time on the clock.
    processor = used * wall / _last_look(wall)
    return JobRecord(wall, processor if processor > 0.3 * wall else wall, memory)


def _last_look(wall: float) -> float:
    """When Snakemake last looked at a job: every half second for a quarter of a minute, then twice a minute."""
    often, interval = 15.5, 30.0
    return wall if wall < often else often + interval * ((wall - often) // interval)


def _number(text: str) -> float:
    return 0.0 if text in ("NA", "-") else float(text)

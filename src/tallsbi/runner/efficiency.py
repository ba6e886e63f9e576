"""What the jobs of a run asked a scheduler for, and what they used: `make efficiency`.

`make plan` says what a run will cost; this is the other side, after the run. The requests are those of a first attempt,
read off a dry run; what a job used stands in its record under `results/<run>/records`. So the table needs no accounting
of the scheduler, and holds for a run on one machine too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.runner.job_records import read_job_record
from tallsbi.runner.options import Run
from tallsbi.runner.plan import PlannedJob, planned_jobs
from tallsbi.storage.files import DataError

if TYPE_CHECKING:
    import pandas as pd


def efficiency_table(jobs: Sequence[PlannedJob], root: Path) -> pd.DataFrame:
    """Per rule: largest request and use of memory (MiB) and time (minutes), a job's largest share, share of busy CPU.

    A share is use over request, so 1 is the limit at which a scheduler ends a job. NaN stands for what was not
    requested, or not measured because the job was too short.
    """
    import pandas as pd

    rows = []
    for job in jobs:
        if job.record is None or not (root / job.record).exists():
            continue
        record = read_job_record(root / job.record)
        row = {"rule": job.rule, "mib": record.memory or None, "minutes": record.wall / 60}
        row |= {"mib_asked": job.mem_mb, "minutes_asked": job.minutes}
        rows.append(row | {"processor": record.processor, "cores": record.wall * job.threads})
    names = ["rule", "mib", "minutes", "mib_asked", "minutes_asked", "processor", "cores"]
    frame = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(names[1:], float))
    frame["mib_share"], frame["minutes_share"] = (
        frame.mib / frame.mib_asked,
        frame.minutes / frame.minutes_asked,
    )
    groups = frame.groupby("rule")
    largest = [f"{name}{kind}" for name in ("mib", "minutes") for kind in ("_asked", "", "_share")]
    table = groups[largest].max()
    table.insert(0, "jobs", groups.size())
    table["cpu"] = groups.processor.sum() / groups.cores.sum()
    return table.sort_values("minutes", ascending=False).reset_index()


def describe(run: Run) -> str:
    """The table as text, and which rules come nearest to their limits; raises `DataError` if nothing has run."""
    jobs = planned_jobs(run.root, run.settings)
    table = efficiency_table(jobs, run.root)
    if table.empty:
        raise DataError(
            f"{run.folder} has no records of jobs: run `make results` with the same settings first"
        )
    forms = {"mib_asked": "{:.0f}", "mib": "{:.0f}", "minutes_asked": "{:.0f}", "minutes": "{:.1f}"}
    forms |= dict.fromkeys(("mib_share", "minutes_share", "cpu"), "{:.0%}")
    text = table.assign(
        **{name: [form.format(x) if x == x else "-" for x in table[name]] for name, form in forms.items()}
    )
    nearest = [
        f"{what} {table.rule[table[share].idxmax()]} ({table[share].max():.0%})"
        for what, share in (("memory", "mib_share"), ("time", "minutes_share"))
        if table[share].notna().any()
    ]
    line = f"{run.name}: {table.jobs.sum():,} of {len(jobs):,} jobs have a record"
    line += f"; nearest to its limit: {', '.join(nearest)}" if nearest else ""
    return f"{text.to_string(index=False)}\n{line}"

"""Jobs, core-hours and memory per stage, measured and projected to the paper's sizes: table cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tallsbi.tables.render import Table

MEASURED = "measured"


def make(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Table:
    """`data`: `costs`, a row per stage and run, where `run` is `measured` or the scale of a projection."""
    tidy = data["costs"]
    (scale,) = set(tidy.run) - {MEASURED}
    done, larger = (tidy[tidy.run == run].set_index("stage") for run in (MEASURED, scale))
    stages = [*larger.index, *done.index.difference(larger.index)]
    shown = pd.DataFrame({"stage": [stage.replace("_", " ") for stage in stages]})
    for name, part in ((settings["run"], done), (f"{scale}, projected", larger)):
        part = part.reindex(stages)
        shown[f"jobs ({name})"] = [_count(value) for value in part.jobs]
        shown[f"core-hours ({name})"] = [_hours(value) for value in part.core_hours]
        shown[f"share ({name})"] = ["–" if pd.isna(value) else f"{value:.0%}" for value in part.share]
        shown[f"longest job in hours ({name})"] = [_hours(value) for value in part.longest_h]
    shown["peak memory in MiB"] = [_count(value) for value in done.peak_mib.reindex(stages)]
    return Table(tidy, shown, _note(done, larger, settings["run"], scale))


def _note(done: pd.DataFrame, larger: pd.DataFrame, run: str, scale: str) -> str:
    totals = [
        f"{name} {int(part.jobs.sum()):,} jobs and {part.core_hours.sum():,.1f} core-hours"
        for name, part in ((f"The run {run} took", done), (f"the scale {scale} will take about", larger))
    ]
    return (
        f"{totals[0]}; {totals[1]}, its longest job {larger.longest_h.max():.1f} h. Processor time as Snakemake's "
        "benchmark records have it; jobs without a record (they collect files) are left out of the measured part. "
        "The projection multiplies the size of every job by the rate fitted to the records of earlier runs "
        "(workflow/resources/costs.csv), and by the speed of this machine."
    )


def _count(value: float) -> str:
    return "–" if pd.isna(value) else f"{int(value):,}"


def _hours(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"

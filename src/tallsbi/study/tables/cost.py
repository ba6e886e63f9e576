"""Jobs, core-hours and memory per stage, measured and projected to the paper's sizes: table cost."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tallsbi.study.settings.artifacts import RunName
from tallsbi.study.tables.render import Table

MEASURED = "measured"


def make(data: Mapping[str, pd.DataFrame], settings: RunName) -> Table:
    """`data`: `costs`, a row per stage and run, where `run` is `measured` or the scale of a projection."""
    tidy = data["costs"]
    by_run = {run: part.set_index("stage") for run, part in tidy.groupby("run", sort=False)}
    measured = by_run.pop(MEASURED)
    runs = {settings.run: measured, **{f"{scale}, projected": costs for scale, costs in by_run.items()}}
    *_, largest = runs.values()
    stages = [*largest.index, *measured.index.difference(largest.index)]
    shown = pd.DataFrame({"stage": [stage.replace("_", " ") for stage in stages]})
    for name, costs in runs.items():
        costs = costs.reindex(stages)
        shown[f"jobs ({name})"] = [_count(value) for value in costs.jobs]
        shown[f"core-hours ({name})"] = [_hours(value) for value in costs.core_hours]
        shown[f"share ({name})"] = ["–" if pd.isna(value) else f"{value:.0%}" for value in costs.share]
        shown[f"longest job in hours ({name})"] = [_hours(value) for value in costs.longest_h]
    shown["peak memory in MiB"] = [_count(value) for value in measured.peak_mib.reindex(stages)]
    return Table(tidy, shown, _note(runs))


def _note(runs: Mapping[str, pd.DataFrame]) -> str:
    (run, measured), *projected = runs.items()
    sentences = [f"The run {run} took {_total(measured)}."]
    for name, costs in projected:
        scale = name.removesuffix(", projected")
        sentences.append(
            f"The scale {scale} will take about {_total(costs)}, its longest job {costs.longest_h.max():.1f} h: the "
            "size of every job times the rate fitted to the records of earlier runs (workflow/resources/costs.csv), "
            "and times the speed of this machine."
        )
    sentences.append(
        "Processor time as Snakemake's benchmark records have it; jobs without a record (they collect files) are left "
        "out of the measured part."
    )
    return " ".join(sentences)


def _total(costs: pd.DataFrame) -> str:
    return f"{int(costs.jobs.sum()):,} jobs and {costs.core_hours.sum():,.1f} core-hours"


def _count(value: float) -> str:
    return "–" if pd.isna(value) else f"{int(value):,}"


def _hours(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"

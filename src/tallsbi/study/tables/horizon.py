"""Up to how many observations each method can be trusted: table horizon."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tallsbi.study.settings.artifacts import TaskRows
from tallsbi.study.tables.render import Table


def make(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Table:
    """`data`: `calibration`, a row per task, method, n and parameter. A row per task and method comes out."""
    frame = data["calibration"]
    tasks = settings.present(frame.task, "calibration")
    frame = frame[frame.task.isin(tasks)]
    first = frame.groupby(["task", "method"], sort=False).first().reset_index()
    largest = frame.groupby(["task", "method"], sort=False).n.max().reset_index(name="largest_n")
    columns = [
        "task",
        "method",
        "steps",
        "n_train",
        "datasets",
        "horizon",
        "failed_n",
        "failure",
        "largest_n",
    ]
    tidy = first.merge(largest, on=["task", "method"])[columns]
    tidy = tidy.sort_values("task", key=lambda names: names.map(tasks.index), kind="stable")
    shown = pd.DataFrame(
        {
            "task": [settings.labels[task] for task in tidy.task],
            "method": tidy.method,
            "steps": tidy.steps,
            "horizon": [_horizon_text(row) for row in tidy.itertuples()],
            "what fails": [_failure_text(row) for row in tidy.itertuples()],
        }
    )
    note = (
        f"Datasets of {int(tidy.datasets.max())} parameters of the prior at every n, networks of N_train = "
        f"{int(tidy.n_train.max()):,}. The horizon is the n at which, for some parameter, sigma becomes a fifth too "
        "narrow or half too wide, the mean of z goes beyond 0.5, or coverage is that of a sigma off by a factor 1.5; a "
        "departure counts only if it is more than chance. Between measured n it is interpolated. Few datasets show "
        "only large departures: a horizon at the largest n says that none was found."
    )
    return Table(tidy, shown, note)


def _horizon_text(row: object) -> str:
    failed = bool(row.failed_n)  # type: ignore[attr-defined]
    return str(row.horizon) if failed else f"{row.horizon} or more"  # type: ignore[attr-defined]


def _failure_text(row: object) -> str:
    return f"n = {row.failed_n}: {row.failure}" if row.failed_n else "–"  # type: ignore[attr-defined]

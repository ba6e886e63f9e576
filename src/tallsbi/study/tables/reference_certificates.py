"""How each reference posterior was made and what its checks say: table reference_certificates.

The CSV has a row per task, set and n; the readable version shows the worst value over the sets of a task and n.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tallsbi.study.settings.artifacts import SbibmTables
from tallsbi.study.tables.render import Table


def make(data: Mapping[str, pd.DataFrame], settings: SbibmTables) -> Table:
    """`data`: `certificates`, one row per task, set and n."""
    certificates = data["certificates"]
    order = {task: i for i, task in enumerate((*settings.tasks, *settings.extra_tasks))}
    tidy = certificates.sort_values(["task", "n", "set"], kind="stable")
    tidy = tidy.sort_values(
        "task", key=lambda tasks: tasks.map(order).fillna(len(order)), kind="stable", ignore_index=True
    )
    groups = tidy.groupby(["task", "n"], sort=False)
    shown = pd.DataFrame([_row(part, settings.labels.get(task, task)) for (task, _), part in groups])
    return Table(tidy, shown, _note(tidy))


def _row(part: pd.DataFrame, label: str) -> dict[str, Any]:
    passed = part.passed.astype(bool)
    return {
        "task": label,
        "n": int(part.n.iloc[0]),
        "method": ", ".join(dict.fromkeys(part.method)),
        "worst R-hat": _worst(part, "rhat", "max", ".4f"),
        "smallest bulk ESS": _worst(part, "ess_bulk", "min", ".0f"),
        "smallest tail ESS": _worst(part, "ess_tail", "min", ".0f"),
        "divergences": _worst(part, "divergences", "sum", ".0f") if "NUTS" in set(part.method) else "–",
        "smallest E-FMI": _worst(part, "efmi", "min", ".2f"),
        "largest autocorrelation": _worst(part, "autocorrelation", "max", ".3f"),
        "largest border mass": _worst(part, "border", "max", ".0e"),
        "sets passed": f"{int(passed.sum())} of {len(part)}",
        "failed sets": " ".join(str(index + 1) for index in sorted(part.set[~passed])) or "–",
    }


def _worst(part: pd.DataFrame, column: str, reduction: str, form: str) -> str:
    """The worst value over the sets, and how many have none; a dash where the check does not apply at all."""
    values = part[column]
    if values.isna().all():
        return "–"
    missing = int(values.isna().sum())
    return format(float(values.agg(reduction)), form) + (f" ({missing} NaN)" if missing else "")


def _note(tidy: pd.DataFrame) -> str:
    failed = int((~tidy.passed.astype(bool)).sum())
    verdict = (
        "All of them passed."
        if not failed
        else f"{failed} of {len(tidy)} references did not pass; they are used, and marked in every figure and table."
    )
    return (
        "Worst value over the parameter sets of a task and n: rank-normalised split R-hat, effective sample sizes of "
        "the coordinate with the fewest, divergent transitions in all chains together, E-FMI (how much of the energy's "
        "variance one draw renews), correlation of neighbours among the kept draws. A dash: the check does not "
        "apply (independent draws of the exact posterior need none; a grid has its border mass, the probability "
        f"next to the edge of the grid). Failed sets by number, counted from 1. {verdict} The CSV has a row per set."
    )

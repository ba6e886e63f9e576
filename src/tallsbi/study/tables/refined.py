"""What refinements gained and cost: table refinements."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tallsbi.study.settings.artifacts import TaskRows
from tallsbi.study.tables.render import Table

MEASURES = ("offset", "spread", "sw")
OUTCOMES = ("refined", "widened", "kept")


def make(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Table:
    """`data`: `refined`, two rows per task, n and set. A row per task and n comes out, with medians over the sets."""
    frame = data["refined"]
    tasks = settings.present(frame.task, "refinements")
    cells = []
    for (task, n), part in frame[frame.task.isin(tasks)].groupby(["task", "n"], sort=False):
        states = dict(iter(part.groupby("state")))
        after = states["after"]
        cell = {"task": task, "n": n, "sets": len(after), "simulations": after.simulations.mean()}
        cell |= {outcome: int((after.outcome == outcome).sum()) for outcome in OUTCOMES}
        for name in MEASURES:
            cell |= {f"{name}_{state}": states[state][name].median() for state in ("before", "after")}
        cells.append(cell | {"sw_self": after.sw_self.median()})
    tidy = pd.DataFrame(cells).sort_values(
        "task", key=lambda names: names.map(tasks.index), kind="stable", ignore_index=True
    )
    shown = pd.DataFrame(
        {
            "task": [settings.labels[task] for task in tidy.task],
            "n": tidy.n,
            "simulations": [f"{count:,.0f}" for count in tidy.simulations],
            **{
                title: [
                    f"{before:.2f} → {after:.2f}"
                    for before, after in zip(tidy[f"{name}_before"], tidy[f"{name}_after"], strict=True)
                ]
                for name, title in zip(MEASURES, ("offset", "spread", "sW"), strict=True)
            },
            "sW of the reference": [f"{value:.2f}" for value in tidy.sw_self],
            "outcome": [_outcome(row) for row in tidy.to_dict("records")],
        }
    )
    note = (
        f"Medians over {int(tidy.sets.max())} parameter sets, before → after, in standard deviations of the reference "
        "posterior: offset of the mean (mean over coordinates), ratio of the spreads (geometric mean), sliced "
        "Wasserstein distance. Widened: the check of a refinement found it too sure and made it wider. Kept: it was "
        "refused, and the draws are those from before."
    )
    return Table(tidy, shown, note)


def _outcome(row: Mapping[str, object]) -> str:
    return ", ".join(f"{row[name]} {name}" for name in OUTCOMES if row[name])

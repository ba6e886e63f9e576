"""Figure steps_vs_accuracy: sW against the number T of time steps and against seconds, for every method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tallsbi.study.figures import cost_panels, style
from tallsbi.study.figures.benchmark_legend import handles
from tallsbi.study.figures.cost_panels import TIER, Shown
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.figures.panels import row_title
from tallsbi.study.figures.summary import Line

BASE = "GAUSS"
SELF = "reference to itself"
BY_STEPS = Shown("steps", "sw", "steps")
BY_SECONDS = Shown("seconds", "sw", "steps", band=False)
_LABELS = {"steps": "time steps T", "seconds": "seconds per posterior"}


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks; columns: for each n one panel against T and one against seconds."""
    frame = data["steps"]
    tasks = [task for task in settings["tasks"] if task in set(frame.task)]
    if not tasks:
        raise ValueError(f"tasks = {list(settings['tasks'])}: the data have no distances for any of them")
    frame = frame[frame.task.isin(tasks)]
    lines, n_obs = cost_panels.method_lines(frame), sorted(frame.n.unique().tolist())
    columns = [(n, shown) for n in n_obs for shown in (BY_STEPS, BY_SECONDS)]
    with style.context():
        width = float(np.clip(7.2 / len(columns), 1.7, 2.6))
        height = float(np.clip(7.4 / len(tasks), 1.2, 2.0))
        figure = Figure(layout="constrained")
        axes = figure.subplots(len(tasks), len(columns), squeeze=False)
        states: set[str] = set()
        tiers = []
        for row, task in zip(axes, tasks, strict=True):
            mine = frame[frame.task == task]
            kinds, stacked = _row(row, mine, columns, lines, width)
            states |= kinds
            tiers.append(TIER * stacked)
            sets = mine["set"].nunique()
            row_title(row[-1], f"{settings['labels'].get(task, task)}\n{sets} set{'s' * (sets != 1)}")
        for ax, (n, _) in zip(axes[0], columns, strict=True):
            ax.set_title(f"n = {n}", pad=5 + tiers[0])
        for ax, (_, shown) in zip(axes[-1], columns, strict=True):
            ax.set_xlabel(_LABELS[shown.x])
        total = max(width * len(columns) + 0.9, 5.0)
        entries = [*handles(lines, states, frame["set"].nunique()), *_levels(frame)]
        rows = add_legend(figure, entries, total)
        figure.set_size_inches(total, height * len(tasks) + sum(tiers) / 72 + 0.7 + 0.17 * rows)
        figure.supylabel("sliced Wasserstein (sW)")
    return figure


def _row(
    row: Iterable[Axes],
    frame: pd.DataFrame,
    columns: Sequence[tuple[int, Shown]],
    lines: Sequence[Line],
    width: float,
) -> tuple[set[str], int]:
    """The panels of one task, on one axis of distances; marks and how many stand on each other."""
    cells = [
        cost_panels.points(line.of(part), BY_STEPS)["mean"].to_numpy()
        for _, part in frame.groupby("n")
        for line in lines
        if len(line.of(part))
    ]
    y_limits = cost_panels.error_limits(np.concatenate([*cells, frame.sw_self.to_numpy()]))
    states: set[str] = set()
    stacked = 0
    for ax, (n, shown) in zip(row, columns, strict=True):
        part = frame[frame.n == n]
        x_limits = cost_panels.limits(frame[shown.x].to_numpy(float))
        kinds, count = cost_panels.panel(ax, part, lines, shown, x_limits, y_limits)
        kinds |= cost_panels.doubt(ax, part, float(np.sqrt(np.prod(x_limits))))
        states, stacked = states | kinds, max(stacked, count)
        _level(ax, reference_level(part), **_base_look())
        _level(ax, part.drop_duplicates("set").sw_self.mean(), **_SELF_LOOK)
        if shown.x == "steps":
            cost_panels.ticks(ax, sorted(part.steps.unique().tolist()), width)
        ax.tick_params(labelleft=ax.get_subplotspec().is_first_col())
    return states, stacked


def reference_level(frame: pd.DataFrame) -> float:
    """Mean distance of GAUSS with the most time steps, over the sets that did not diverge; NaN without any."""
    mine = frame[frame.method == BASE]
    return float(mine.sw[mine.steps == mine.steps.max()].mean())


_SELF_LOOK = {"color": "0.5", "linestyle": ":", "linewidth": 0.9}


def _base_look() -> dict[str, Any]:
    return {"color": style.method_look(BASE).color, "linestyle": "--", "linewidth": 0.9}


def _level(ax: Axes, value: float, **look: Any) -> None:
    if np.isfinite(value):
        ax.axhline(value, zorder=1.5, label="_level", **look)


def _levels(frame: pd.DataFrame) -> list[Line2D]:
    entries = []
    if (frame.method == BASE).any():
        most = int(frame.steps[frame.method == BASE].max())
        entries.append(Line2D([], [], label=f"{BASE}, T = {most}", **_base_look()))
    if frame.sw_self.notna().any():
        entries.append(Line2D([], [], label=SELF, **_SELF_LOOK))
    return entries

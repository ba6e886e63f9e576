"""Relative error, seconds and peak memory as the number n of observations grows (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import X_LABELS, logarithmic, ticked
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.limits import shortfall
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line, method_lines
from tallsbi.study.figures.sbibm_panels import count_sets
from tallsbi.study.figures.steps_vs_accuracy import DECADES, SELF, SELF_LOOK
from tallsbi.study.settings.artifacts import TaskRows

COLUMNS = {"error": "error (sW / spread)", "seconds": "seconds per posterior", "memory": "peak memory (MiB)"}
GROWTH, UNKNOWN = "proportional to n", "not measured\non this system"
_GROWTH_LOOK = {"color": "0.5", "linestyle": (0, (5, 2, 1, 2)), "linewidth": 0.7}


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Figure:
    """Rows: tasks; columns: error, seconds and memory."""
    frame = data["many"]
    tasks = settings.present(frame.task, "errors")
    frame = frame[frame.task.isin(tasks)]
    lines = method_lines(frame)
    layout = Layout(len(tasks), len(COLUMNS), widths=(2.3, 2.3), heights=(1.9, 1.9))
    rows = []
    for task in tasks:
        part = frame[frame.task == task]
        panels = [_panel(part, lines, column, layout.width) for column in COLUMNS]
        rows.append((f"{settings.labels[task]}\n{count_sets(part)}", panels))
    levels = [Line2D([], [], label=SELF, **SELF_LOOK)] if frame.error_self.notna().any() else []
    levels.append(Line2D([], [], label=GROWTH, **_GROWTH_LOOK))
    sets = {part["set"].nunique() for _, part in frame.groupby("task")}
    return grid(
        rows,
        list(COLUMNS.values()),
        layout,
        lambda states: [*legend_entries(lines, states, "set", sets), *levels],
        warnings=[shortfall(frame, "samples", "steps")],
    )


def _panel(frame: pd.DataFrame, lines: list[Line], column: str, width: float) -> Panel:
    x_axis = ticked(frame.n.unique().tolist(), width, X_LABELS["n"])
    means = frame[np.isfinite(frame[column])].groupby(["method", "steps", "n"])[column].mean()
    if column == "error":
        floor = frame.groupby("n").error_self.mean()
        y_axis, under = logarithmic([*means, *floor], decades=DECADES), partial(_self_distance, floor)
        return Panel(frame, lines, column, x_axis, y_axis, unit="set", doubt="point", under=under)
    under = partial(_growth, sorted(frame.n.unique().tolist()), means.max())
    return Panel(frame, lines, column, x_axis, logarithmic(means), unit="set", marks=False, under=under)


def _self_distance(floor: pd.Series, ax: Axes) -> None:
    if floor.notna().any():
        ax.plot(floor.index, floor, label="_self", **SELF_LOOK)


def _growth(n: list[int], top: float, ax: Axes) -> None:
    """A line through the largest cost; or that nothing was measured."""
    if np.isfinite(top):
        ax.plot(n, [top * value / max(n) for value in n], label="_growth", zorder=1.5, **_GROWTH_LOOK)
    else:
        place = {"transform": ax.transAxes, "ha": "center", "va": "center", "color": style.NEUTRAL}
        ax.text(0.5, 0.5, UNKNOWN, **place)

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
from tallsbi.study.figures.axes import X_LABELS, logarithmic_axis, ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.limits import shortfall
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line, method_lines
from tallsbi.study.figures.sbibm_panels import count_sets
from tallsbi.study.figures.steps_vs_accuracy import DECADES, draw_self_distance, self_entries
from tallsbi.study.settings.artifacts import TaskRows

COLUMNS = {"error": "error (sW / spread)", "seconds": "seconds per posterior", "memory": "peak memory (MiB)"}
GROWTH_LABEL, NOT_MEASURED = "proportional to n", "not measured\non this system"
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
    levels = [*self_entries(frame.error_self), Line2D([], [], label=GROWTH_LABEL, **_GROWTH_LOOK)]
    sets = {part["set"].nunique() for _, part in frame.groupby("task")}
    return grid(
        rows,
        list(COLUMNS.values()),
        layout,
        lambda mark_kinds: [*legend_entries(lines, mark_kinds, "set", sets), *levels],
        warnings=[shortfall(frame, "samples", "steps")],
    )


def _panel(frame: pd.DataFrame, lines: list[Line], column: str, width: float) -> Panel:
    x_axis = ticked_axis(frame.n.unique().tolist(), width, X_LABELS["n"])
    means = frame[np.isfinite(frame[column])].groupby(["method", "steps", "n"])[column].mean()
    if column == "error":
        self_distances = frame.groupby("n").error_self.mean()
        y_axis = logarithmic_axis([*means, *self_distances], decades=DECADES)
        background = partial(draw_self_distance, self_distances)
        return Panel(frame, lines, column, x_axis, y_axis, unit="set", doubt="point", background=background)
    y_axis = logarithmic_axis(means)
    background = partial(_draw_growth, sorted(frame.n.unique().tolist()), means.max())
    return Panel(frame, lines, column, x_axis, y_axis, unit="set", marks=False, background=background)


def _draw_growth(n: list[int], largest: float, ax: Axes) -> None:
    """A line in proportion to n through the largest cost; or a note that nothing was measured."""
    if np.isfinite(largest):
        ax.plot(n, [largest * value / max(n) for value in n], label="_growth", zorder=1.5, **_GROWTH_LOOK)
    else:
        place = {"transform": ax.transAxes, "ha": "center", "va": "center", "color": style.NEUTRAL}
        ax.text(0.5, 0.5, NOT_MEASURED, **place)

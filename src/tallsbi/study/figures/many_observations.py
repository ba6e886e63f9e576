"""Figure many_observations: relative error, seconds and peak memory as the number n of observations grows."""

from __future__ import annotations

from collections.abc import Mapping
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

COLUMNS = {"error": "error (sW / spread)", "seconds": "seconds per posterior", "memory": "peak memory (MiB)"}
SELF, GROWTH, UNKNOWN = "reference to itself", "proportional to n", "not measured\non this system"
_SELF_LOOK = {"color": "0.5", "linestyle": ":", "linewidth": 0.9}
_GROWTH_LOOK = {"color": "0.5", "linestyle": (0, (5, 2, 1, 2)), "linewidth": 0.7}
_WIDTH, _HEIGHT = 2.3, 1.9


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks; columns: error, seconds and memory."""
    frame = data["many"]
    tasks = [task for task in settings["tasks"] if task in set(frame.task)]
    if not tasks:
        raise ValueError(f"tasks = {list(settings['tasks'])}: the data have no errors for any of them")
    frame = frame[frame.task.isin(tasks)]
    lines = _lines(frame)
    with style.context():
        figure = Figure(layout="constrained")
        axes = figure.subplots(len(tasks), len(COLUMNS), squeeze=False)
        states: set[str] = set()
        tiers = []
        for row, task in zip(axes, tasks, strict=True):
            mine = frame[frame.task == task]
            kinds, count = set(), 0
            for ax, column in zip(row, COLUMNS, strict=True):
                marks, stacked = _panel(ax, mine, lines, column)
                kinds, count = kinds | marks, max(count, stacked)
            states |= kinds
            tiers.append(TIER * count)
            sets = mine["set"].nunique()
            row_title(row[-1], f"{settings['labels'].get(task, task)}\n{sets} set{'s' * (sets != 1)}")
        for ax, title in zip(axes[0], COLUMNS.values(), strict=True):
            ax.set_title(title, pad=5 + tiers[0])
        for ax in axes[-1]:
            ax.set_xlabel("observations n")
        width = _WIDTH * len(COLUMNS) + 0.5
        levels = [Line2D([], [], label=SELF, **_SELF_LOOK)] if frame.error_self.notna().any() else []
        levels.append(Line2D([], [], label=GROWTH, **_GROWTH_LOOK))
        rows = add_legend(figure, [*handles(lines, states, frame["set"].nunique()), *levels], width)
        figure.set_size_inches(width, _HEIGHT * len(tasks) + sum(tiers) / 72 + 0.6 + 0.17 * rows)
    return figure


def _lines(frame: pd.DataFrame) -> list[Line]:
    """A line per method; the label gives its number of time steps."""
    steps = frame.groupby("method").steps.max().to_dict()
    return [
        Line(line.where, style.method_label(line.label, steps[line.label]), line.look)
        for line in cost_panels.method_lines(frame)
    ]


def _panel(ax: Axes, frame: pd.DataFrame, lines: list[Line], column: str) -> tuple[set[str], int]:
    shown, n = Shown("n", column, "n"), sorted(frame.n.unique().tolist())
    error = column == "error"
    means = [cost_panels.points(line.of(frame), shown)["mean"] for line in lines if len(line.of(frame))]
    floor = frame.groupby("n").error_self.mean() if error else pd.Series(dtype=float)
    values = np.concatenate([*means, floor])
    y_limits = cost_panels.error_limits(values) if error else cost_panels.limits(values)
    x_limits = cost_panels.limits(np.array(n, float))
    states, stacked = cost_panels.panel(ax, frame, lines, shown, x_limits, y_limits, marks=error)
    for place, part in frame.groupby("n") if error else ():
        states |= cost_panels.doubt(ax, part, place)
    cost_panels.ticks(ax, n, _WIDTH)
    if floor.notna().any():
        ax.plot(floor.index, floor, label="_self", **_SELF_LOOK)
    elif not error and np.isfinite(values).any():
        top = np.nanmax(values)
        ax.plot(n, [top * value / max(n) for value in n], label="_growth", zorder=1.5, **_GROWTH_LOOK)
    elif not error:
        place = {"transform": ax.transAxes, "ha": "center", "va": "center", "color": style.NEUTRAL}
        ax.text(0.5, 0.5, UNKNOWN, **place)
    return states, stacked

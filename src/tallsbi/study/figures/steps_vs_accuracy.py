"""sW against the number T of time steps and against seconds, for every method (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from tallsbi.study.figures.panels import NO_SPREAD, Panel
from tallsbi.study.figures.points import Line, lines_without_steps
from tallsbi.study.figures.sbibm_panels import LABELS, count_sets
from tallsbi.study.settings.artifacts import TaskRows

BASE_METHOD = "GAUSS"
SELF_LABEL = "reference to itself"
DECADES = 3.0  # an axis of errors spans at most this many
SELF_LOOK = {"color": "0.5", "linestyle": ":", "linewidth": 0.9}
_BASE_LOOK = {"color": style.method_look(BASE_METHOD).color, "linestyle": "--", "linewidth": 0.9}


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Figure:
    """Rows: tasks; columns: for each n one panel against T and one against seconds."""
    frame = data["steps"]
    tasks = settings.present(frame.task, "distances")
    frame = frame[frame.task.isin(tasks)]
    lines, counts = lines_without_steps(frame), sorted(frame.n.unique().tolist())
    layout = Layout(len(tasks), 2 * len(counts), widths=(1.7, 2.6), heights=(1.2, 2.0))
    rows = []
    for task in tasks:
        part = frame[frame.task == task]
        panels = _row(part, counts, lines, layout.width)
        rows.append((f"{settings.labels[task]}\n{count_sets(part)}", panels))
    sets = {part["set"].nunique() for _, part in frame.groupby("task")}
    return grid(
        rows,
        [f"n = {n}" for n in counts for _ in range(2)],
        layout,
        lambda mark_kinds: [*legend_entries(lines, mark_kinds, "set", sets), *_level_entries(frame)],
        label=LABELS["sw"],
        warnings=[shortfall(frame, "samples", "steps")],
    )


def _row(frame: pd.DataFrame, counts: list[int], lines: list[Line], width: float) -> list[Panel]:
    """The panels of one task, on one axis of distances."""
    by_steps = ticked_axis(frame.steps.unique().tolist(), width, X_LABELS["steps"])
    by_seconds = logarithmic_axis(frame.seconds, X_LABELS["seconds"])
    finite = frame[np.isfinite(frame.sw)]
    means = finite.groupby(["n", "method", "steps"]).sw.mean()
    y_axis = logarithmic_axis([*means, *frame.sw_self], decades=DECADES)
    panels = []
    for n in counts:
        part = frame[frame.n == n]
        panel = Panel(
            part,
            lines,
            "sw",
            by_steps,
            y_axis,
            by="steps",
            unit="set",
            doubt="panel",
            background=partial(_draw_levels, part),
        )
        panels += [panel, replace(panel, x_axis=by_seconds, place="seconds", spread=NO_SPREAD)]
    return panels


def base_level(frame: pd.DataFrame) -> float:
    """Mean distance of GAUSS with the most time steps, over the sets that are not lost; NaN without any."""
    rows = frame[frame.method == BASE_METHOD]
    return float(rows.sw[rows.steps == rows.steps.max()].mean())


def draw_self_distance(distances: pd.Series, ax: Axes) -> None:
    """The distance of the reference to itself, by n, where it is known."""
    if distances.notna().any():
        ax.plot(distances.index, distances, label="_self", **SELF_LOOK)


def self_entries(distances: pd.Series) -> list[Line2D]:
    """The legend of the distance of the reference to itself, where it is known."""
    return [Line2D([], [], label=SELF_LABEL, **SELF_LOOK)] if distances.notna().any() else []


def _draw_levels(frame: pd.DataFrame, ax: Axes) -> None:
    self_distance = frame.drop_duplicates("set").sw_self.mean()
    for value, look in ((base_level(frame), _BASE_LOOK), (self_distance, SELF_LOOK)):
        if np.isfinite(value):
            ax.axhline(value, zorder=1.5, label="_level", **look)


def _level_entries(frame: pd.DataFrame) -> list[Line2D]:
    entries = []
    if (frame.method == BASE_METHOD).any():
        steps = int(frame.steps[frame.method == BASE_METHOD].max())
        entries.append(Line2D([], [], label=f"{BASE_METHOD}, T = {steps}", **_BASE_LOOK))
    return entries + self_entries(frame.sw_self)

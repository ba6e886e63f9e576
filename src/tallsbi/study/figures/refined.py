"""Offset, spread and sliced distance before and after a refinement, against n (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import X_LABELS, logarithmic_axis, ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line
from tallsbi.study.figures.sbibm_panels import count_sets
from tallsbi.study.figures.steps_vs_accuracy import draw_self_distance, self_entries
from tallsbi.study.settings.artifacts import TaskRows

COLUMNS = {"offset": "offset of the mean (sd)", "spread": "spread / exact", "sw": "sliced Wasserstein (sd)"}
_REFINED = style.Look("#D62728", "o")
_TARGET_RANGES = {"offset": (1e-9, 0.3), "spread": (0.9, 1.1)}  # what a refinement aims at


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Figure:
    """Rows: tasks; columns: offset, spread and sliced distance; lines: before and after."""
    frame = data["refined"]
    tasks = settings.present(frame.task, "refinements")
    frame = frame[frame.task.isin(tasks)]
    method = frame.method.iloc[0]
    lines = [
        Line({"state": "before"}, f"before ({method})", style.method_look(method)),
        Line({"state": "after"}, "after refinement", _REFINED),
    ]
    layout = Layout(len(tasks), len(COLUMNS), widths=(2.3, 2.3), heights=(1.5, 1.9))
    rows = []
    for task in tasks:
        part = frame[frame.task == task]
        panels = [_panel(part, lines, column, layout.width) for column in COLUMNS]
        rows.append((f"{settings.labels[task]}\n{count_sets(part)}", panels))
    sets = {part["set"].nunique() for _, part in frame.groupby("task")}
    return grid(
        rows,
        list(COLUMNS.values()),
        layout,
        lambda mark_kinds: [*legend_entries(lines, mark_kinds, "set", sets), *self_entries(frame.sw_self)],
        note=f"at most {int(frame.simulations.max()):,} further simulations per posterior",
    )


def _panel(frame: pd.DataFrame, lines: list[Line], column: str, width: float) -> Panel:
    x_axis = ticked_axis(frame.n.unique().tolist(), width, X_LABELS["n"])
    means = frame[np.isfinite(frame[column])].groupby(["state", "n"])[column].mean()
    marked = {"offset": [0.3], "spread": [0.9, 1.1], "sw": frame.groupby("n").sw_self.mean()}[column]
    return Panel(
        frame, lines, column, x_axis, logarithmic_axis([*means, *marked]), unit="set", doubt="point",
        background=partial(_draw_background, frame, column),
    )  # fmt: skip


def _draw_background(frame: pd.DataFrame, column: str, ax: Axes) -> None:
    if column in _TARGET_RANGES:
        ax.axhspan(*_TARGET_RANGES[column], color=style.NEUTRAL, alpha=0.15, linewidth=0)
    else:
        draw_self_distance(frame.groupby("n").sw_self.mean(), ax)

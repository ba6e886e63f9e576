"""Root mean square z and coverage against the number n of observations (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tallsbi.metrics.calibration import NARROW_BAR, WIDE_BAR
from tallsbi.study.figures import style
from tallsbi.study.figures.axes import X_LABELS, axis_from_zero, logarithmic_axis, ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line, method_lines
from tallsbi.study.settings.artifacts import TaskRows

COLUMNS = {
    "rms_z": "root mean square z",
    "coverage_50": "coverage of 50 % intervals",
    "coverage_90": "coverage of 90 % intervals",
}
NOMINAL_VALUES = {"rms_z": 1.0, "coverage_50": 0.5, "coverage_90": 0.9}


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Figure:
    """Rows: tasks; columns: root mean square z, coverage of 50 and of 90 % intervals; lines: methods."""
    frame = data["calibration"]
    tasks = settings.present(frame.task, "calibration")
    frame = frame[frame.task.isin(tasks)].assign(lost_share=lambda rows: rows.lost / rows.datasets)
    lines = method_lines(frame)
    layout = Layout(len(tasks), len(COLUMNS), widths=(2.3, 2.3), heights=(1.5, 1.9))
    rows = []
    for task in tasks:
        part = frame[frame.task == task]
        panels = [_panel(part, lines, column, layout.width) for column in COLUMNS]
        rows.append((f"{settings.labels[task]}\n{part.datasets.max()} datasets", panels))
    counts = {part.parameter.nunique() for _, part in frame.groupby("task")}
    return grid(
        rows,
        list(COLUMNS.values()),
        layout,
        lambda mark_kinds: legend_entries(lines, mark_kinds, "parameter", counts),
    )


def _panel(frame: pd.DataFrame, lines: list[Line], column: str, width: float) -> Panel:
    x_axis = ticked_axis(frame.n.unique().tolist(), width, X_LABELS["n"])
    values = [*frame[column][np.isfinite(frame[column])], NOMINAL_VALUES[column]]
    y_axis = (
        logarithmic_axis([*values, 1 / WIDE_BAR, NARROW_BAR]) if column == "rms_z" else axis_from_zero(1.0)
    )
    return Panel(
        frame,
        lines,
        column,
        x_axis,
        y_axis,
        unit="parameter",
        marks=False,
        background=partial(_draw_nominal, column),
    )


def _draw_nominal(column: str, ax: Axes) -> None:
    """Draws the value of a calibrated posterior, and for z the range that is near enough."""
    if column == "rms_z":
        ax.axhspan(1 / WIDE_BAR, NARROW_BAR, color=style.NEUTRAL, alpha=0.15, linewidth=0)
    ax.axhline(NOMINAL_VALUES[column], color=style.NEUTRAL, linewidth=0.7, label="_promised")

"""Root mean square z and coverage against the number n of observations (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tallsbi.metrics.calibration import NARROW, WIDE
from tallsbi.study.figures import style
from tallsbi.study.figures.axes import X_LABELS, from_zero, logarithmic, ticked
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line, method_lines
from tallsbi.study.settings.artifacts import TaskRows

COLUMNS = {
    "rms_z": "root mean square z",
    "coverage_50": "coverage of 50 % intervals",
    "coverage_90": "coverage of 90 % intervals",
}
PROMISED = {"rms_z": 1.0, "coverage_50": 0.5, "coverage_90": 0.9}


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
        lambda states: legend_entries(lines, states, "parameter", counts),
    )


def _panel(frame: pd.DataFrame, lines: list[Line], column: str, width: float) -> Panel:
    x_axis = ticked(frame.n.unique().tolist(), width, X_LABELS["n"])
    values = [*frame[column][np.isfinite(frame[column])], PROMISED[column]]
    y_axis = logarithmic([*values, 1 / WIDE, NARROW]) if column == "rms_z" else from_zero(1.0)
    return Panel(
        frame, lines, column, x_axis, y_axis, unit="parameter", marks=False, under=partial(_promised, column)
    )


def _promised(column: str, ax: Axes) -> None:
    """What a calibrated posterior has, and for z how far it may be off."""
    if column == "rms_z":
        ax.axhspan(1 / WIDE, NARROW, color=style.NEUTRAL, alpha=0.15, linewidth=0)
    ax.axhline(PROMISED[column], color=style.NEUTRAL, linewidth=0.7, label="_promised")

"""l-C2ST, the local classifier two-sample test, against n on the Jansen-Rit model (appendix of section 4.3).

The statistic is the mean of (p - 1/2)² over the posterior, p the classifier's probability: 0 where it cannot tell the
estimated posterior from the true one, at most 1/4. The null comes from permuted labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tallsbi.study.figures.axes import FINE_STEPS, X_LABELS, Axis, axis_from_zero, round_up, ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.jrnmm import rows_of
from tallsbi.study.figures.legend import Entry
from tallsbi.study.figures.limits import shortfall
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import lines_without_steps, points
from tallsbi.study.settings.artifacts import JrnmmFigures

LEVEL = 0.05
MAX_STATISTIC = 0.25  # when the classifier is always certain
P_VALUES = replace(axis_from_zero(1.0, "share of the null above"), ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
_NULL_MEAN = {"color": "0.55", "linewidth": 1.0}
_NULL_BAND = {"color": "0.87", "linewidth": 0}
_LEVEL_LINE = {"color": "black", "linestyle": "--", "linewidth": 0.9}
_DODGE = 1.6  # points; with and without clipping the values are often the same


def draw(data: Mapping[str, pd.DataFrame], settings: JrnmmFigures) -> Figure:
    """Left the statistic, right its p-value."""
    frame = rows_of(data["lc2st"], settings.dim, "l-C2ST results")
    lines = lines_without_steps(frame)
    layout = Layout(1, 2, widths=(3.3, 3.3), heights=(2.4, 2.4))
    x_axis = ticked_axis(frame.n.unique().tolist(), layout.width, X_LABELS["n"], log=False)
    keys = {"unit": "classifier", "strict": True, "dodge": _DODGE, "name_absent": True}
    band = null_band(frame)
    panels = [
        Panel(frame, lines, "statistic", x_axis, _axis(frame), background=partial(_draw_null, band), **keys),
        Panel(frame, lines, "p_value", x_axis, P_VALUES, background=_draw_level, **keys),
    ]
    classifiers = {frame.classifier.nunique()}
    return grid(
        [("", panels)],
        ["l-C2ST statistic", "p-value"],
        layout,
        lambda mark_kinds: [
            *legend_entries(lines, mark_kinds, "classifier", classifiers),
            *_entries(not band.empty),
        ],
        note=_sizes_note(frame, settings),
        warnings=[shortfall(frame, "calibration", "permutations")],
    )


def _axis(frame: pd.DataFrame) -> Axis:
    """Up to a round number above every band and the null, or to the largest possible value."""
    cells = [points(part, "statistic", "n", strict=True) for _, part in frame.groupby("method")]
    tops = [*(cell["mean"] + cell["std"].fillna(0.0) for cell in cells), frame.null_q95.to_numpy(float)]
    values = np.concatenate(tops)
    finite = values[np.isfinite(values)]
    end = min(round_up(float(finite.max()), FINE_STEPS), MAX_STATISTIC) if len(finite) else MAX_STATISTIC
    return axis_from_zero(end, "mean of (class probability − ½)²")


def null_band(frame: pd.DataFrame) -> pd.DataFrame:
    """Per n: mean and 95 % quantile of the null statistics, each the median over the methods."""
    cells = frame.groupby(["n", "method"])[["null_mean", "null_q95"]].mean()
    return cells.groupby("n").median().dropna()


def _draw_null(band: pd.DataFrame, ax: Axes) -> None:
    ax.fill_between(band.index, band.null_mean, band.null_q95, zorder=1, label="_null", **_NULL_BAND)
    ax.plot(band.index, band.null_mean, zorder=1.1, label="_null mean", **_NULL_MEAN)


def _draw_level(ax: Axes) -> None:
    ax.axhline(LEVEL, zorder=1.5, label="_level", **_LEVEL_LINE)


def _entries(tested: bool) -> list[Entry]:
    """Entries for the null, where anything was tested, and for the level."""
    null = [
        Line2D([], [], label="null, mean", **_NULL_MEAN),
        Patch(label="null, up to 95 %", **_NULL_BAND),
    ]
    return [*(null if tested else []), Line2D([], [], label=f"level {LEVEL:g}", **_LEVEL_LINE)]


def _sizes_note(frame: pd.DataFrame, settings: JrnmmFigures) -> str:
    tested = frame[frame.statistic.notna()] if frame.statistic.notna().any() else frame
    pairs, permutations = _range(tested.calibration), _range(tested.permutations)
    return f"{pairs} calibration pairs; {permutations} permutations; {settings.samples} draws per posterior"


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"

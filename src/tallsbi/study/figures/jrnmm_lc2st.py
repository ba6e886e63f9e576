"""Panels of l-C2ST, the local classifier two-sample test, against n (appendix of section 4.3).

The statistic is the mean of (p - 1/2)² over the posterior, p the classifier's probability: 0 where it cannot
tell the estimated posterior from the true one, at most 1/4. The null comes from permuted labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tallsbi.study.figures import style
from tallsbi.study.figures.jrnmm_panels import (
    TIER,
    axis_end,
    draw_lines,
    handles,
    method_lines,
    note,
    rows_of,
)
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.figures.panels import Scale
from tallsbi.study.figures.summary import over_seeds

LEVEL = 0.05
LARGEST = 0.25  # possible statistic
P_VALUES = Scale((-0.04, 1.04), (0.0, 0.25, 0.5, 0.75, 1.0))
_NULL = "0.55"
_DODGE = 1.6  # points; with and without clipping the values are often the same


def draw_test(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Left the statistic, right its p-value."""
    frame = rows_of(data["lc2st"], settings["dim"], "l-C2ST results")
    lines = method_lines(frame)
    with style.context():
        figure = Figure(layout="constrained")
        left, right = figure.subplots(1, 2)
        band = null_band(frame)
        _null(left, band)
        found = [
            draw_lines(left, frame, lines, "statistic", _scale(frame), _DODGE),
            draw_lines(right, frame, lines, "p_value", P_VALUES, _DODGE),
        ]
        right.axhline(LEVEL, color="black", linestyle="--", linewidth=0.9, zorder=1.5, label="_level")
        left.set_ylabel("mean of (class probability − ½)²")
        right.set_ylabel("share of the null above")
        pad = 5 + TIER * max(one.stacked for one in found)
        left.set_title("l-C2ST statistic", pad=pad)
        right.set_title("p-value", pad=pad)
        width = 7.6
        entries = [
            *handles(lines, set().union(*(one.states for one in found))),
            *_fixed_handles(not band.empty),
        ]
        rows = add_legend(figure, entries, width)
        note(figure, _sizes(frame, settings))
        figure.set_size_inches(width, 3.2 + (pad - 5) / 72 + 0.17 * rows)
    return figure


def _scale(frame: pd.DataFrame) -> Scale:
    """Up to a round number above every band and the null, or to the largest possible value."""
    cells = [over_seeds(part, "statistic") for _, part in frame.groupby("method")]
    tops = np.concatenate([*(cell["mean"] + cell["std"] for cell in cells), frame.null_q95.to_numpy(float)])
    finite = tops[np.isfinite(tops)]
    end = min(axis_end(float(finite.max())), LARGEST) if len(finite) else LARGEST
    return Scale((-0.04 * end, 1.04 * end), (0.0, end / 2, end))


def null_band(frame: pd.DataFrame) -> pd.DataFrame:
    """Per n: mean and 95 % quantile of the null statistics, each the median over the methods."""
    cells = frame.groupby(["n", "method"])[["null_mean", "null_q95"]].mean()
    return cells.groupby("n").median().dropna()


def _null(ax: Axes, band: pd.DataFrame) -> None:
    area = {"color": "0.87", "linewidth": 0, "zorder": 1}
    ax.fill_between(band.index, band.null_mean, band.null_q95, label="_null", **area)
    ax.plot(band.index, band.null_mean, color=_NULL, linewidth=1.0, zorder=1.1, label="_null mean")


def _fixed_handles(tested: bool) -> list[Line2D | Patch]:
    """Entries for the null, where anything was tested, and for the level."""
    null = [
        Line2D([], [], color=_NULL, linewidth=1.0, label="null, mean"),
        Patch(color="0.87", linewidth=0, label="null, up to 95 %"),
    ]
    level = Line2D([], [], color="black", linestyle="--", linewidth=0.9, label=f"level {LEVEL:g}")
    return [*(null if tested else []), level]


def _sizes(frame: pd.DataFrame, settings: Mapping[str, Any]) -> str:
    tested = frame[frame.statistic.notna()] if frame.statistic.notna().any() else frame
    classifiers = int(frame.classifier.nunique())
    seeds = f"mean ± std of {classifiers} classifiers" if classifiers > 1 else "one classifier, no band"
    pairs, trials = _range(tested.calibration), _range(tested.permutations)
    return f"{seeds}; {pairs} calibration pairs; {trials} permutations; {settings['samples']} draws per posterior"


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"

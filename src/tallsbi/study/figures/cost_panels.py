"""Logarithmic panels of error, time and memory: lines methods, marks for what an axis cannot show.

The marks are those of the benchmark's panels: above the panel, in the colour of the method, an arrow for a mean
beyond the axis and ×k where k sets diverged; the mean over the other sets is then drawn hollow. Values without
a place on a logarithmic axis (zero, unknown) are not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter, NullLocator

from tallsbi.study.figures import style
from tallsbi.study.figures.benchmark_legend import ABOVE, LOST, UNCERTIFIED
from tallsbi.study.figures.summary import Line

TIER = 6.0  # points from one mark to the next above it
_MARGIN = 1.4  # from the outermost point to the end of an axis
_DECADES = 3.0  # an axis of errors spans at most this many
_BESIDE = 0.16  # marks closer than this share of the panel's width stand above each other


@dataclass(frozen=True)
class Shown:
    """What a panel shows: `y` against `x`, a point per value of `by`; distances may be missing, costs may not."""

    x: str
    y: str
    by: str
    band: bool = True


def method_lines(frame: pd.DataFrame) -> list[Line]:
    """A line per method, in the order in which the methods come in the data."""
    return [
        Line({"method": name}, name, style.method_look(name)) for name in dict.fromkeys(frame.method.tolist())
    ]


def points(frame: pd.DataFrame, shown: Shown) -> pd.DataFrame:
    """Per value of `by`: `x`, `mean` and `std` of y over the sets that have one, and how many `diverged`."""
    finite = frame[shown.y].where(np.isfinite(frame[shown.y]))
    groups = finite.groupby(frame[shown.by])
    places = frame[shown.x].groupby(frame[shown.by]).mean()
    lost = (frame.finite_share < 1).groupby(frame[shown.by]).sum()
    summary = pd.DataFrame({"x": places, "mean": groups.mean(), "std": groups.std(), "diverged": lost})
    return summary.reset_index(drop=True)


def limits(values: np.ndarray, *, decades: float = np.inf) -> tuple[float, float]:
    """Ends of a logarithmic axis around all values, or around those within `decades` of the smallest."""
    positive = values[np.isfinite(values) & (values > 0)]
    if len(positive) == 0:
        return 0.1, 1.0
    low, highest = positive.min(), positive[np.log10(positive / positive.min()) <= decades].max()
    return low / _MARGIN, highest * _MARGIN


def error_limits(values: np.ndarray) -> tuple[float, float]:
    return limits(values, decades=_DECADES)


def panel(
    ax: Axes,
    frame: pd.DataFrame,
    lines: Sequence[Line],
    shown: Shown,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    *,
    marks: bool = True,
) -> tuple[set[str], int]:
    """Draws one panel; returns the kinds of marks it needs, and how many stand on each other at its top.

    `marks=False`: of a cost, which a diverged run has as well.
    """
    _logarithmic(ax, x_limits, y_limits)
    states: set[str] = set()
    placed: list[tuple[float, int]] = []
    for line in lines:
        mine = line.of(frame)
        if mine.empty:
            continue
        cells = points(mine, shown)
        _curve(ax, line, cells, shown, y_limits, hollow=marks)
        for cell in cells.itertuples() if marks else ():
            occurs = {ABOVE: cell.mean > y_limits[1], LOST: cell.diverged > 0}
            kinds = {kind for kind, here in occurs.items() if here}
            states |= kinds
            if text := "↑" * (ABOVE in kinds) + f"×{cell.diverged:.0f}" * (LOST in kinds):
                share = np.log(cell.x / x_limits[0]) / np.log(x_limits[1] / x_limits[0])
                taken = {tier for place, tier in placed if abs(place - share) < _BESIDE}
                tier = min(set(range(len(taken) + 1)) - taken)
                placed.append((share, tier))
                _mark(ax, cell.x, text, line.look.edge_color, tier)
    return states, max((tier + 1 for _, tier in placed), default=0)


def _curve(
    ax: Axes, line: Line, cells: pd.DataFrame, shown: Shown, y_limits: tuple[float, float], *, hollow: bool
) -> None:
    """Mean with a band of one standard deviation over sets; hollow where sets diverged."""
    look, x = line.look, cells.x
    mean = cells["mean"].where(cells["mean"] > 0)
    if look.edge is not None:
        ax.plot(x, mean, look.line, color=look.edge, linewidth=2.0, alpha=0.6, label="_edge")
    marker = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
    marker |= {"markeredgewidth": 0.6, "color": look.color}
    ax.plot(x, mean, linestyle=look.line, alpha=style.LINE_ALPHA, label=line.label, **marker)
    survivors = (cells.diverged > 0) & mean.notna()
    if hollow and survivors.any():
        empty = {**marker, "markerfacecolor": "white", "markeredgewidth": 0.9}
        ax.plot(x[survivors], mean[survivors], linestyle="none", label=f"_{LOST}", **empty)
    if shown.band and (cells["std"] > 0).any():
        band = {"color": look.color, "alpha": style.BAND_ALPHA, "linewidth": 0, "label": f"_{line.label}"}
        # Far below the axis instead of at or below zero, where a logarithmic axis has no place.
        lower = np.maximum(mean - cells["std"], y_limits[0] / 100)
        ax.fill_between(x, lower, mean + cells["std"], **band)


def _mark(ax: Axes, place: float, text: str, color: Any, tier: int) -> None:
    where = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": color, "fontweight": "bold"}
    ax.annotate(text, (place, 1.0), (0, 2.0 + TIER * tier), annotation_clip=False, **where, **look)


def doubt(ax: Axes, frame: pd.DataFrame, place: float) -> set[str]:
    """?k inside the lower edge, at `place` on the x axis: k sets have a reference that did not pass its checks."""
    count = frame["set"][~frame.reference_passed.astype(bool)].nunique()
    if count == 0:
        return set()
    where = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": style.NEUTRAL, "fontweight": "bold"}
    ax.annotate(f"?{count}", (place, 0.0), (0, 1.0), **where, **look)
    return {UNCERTIFIED}


def _logarithmic(ax: Axes, x_limits: tuple[float, float], y_limits: tuple[float, float]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*x_limits)
    ax.set_ylim(*y_limits)
    for axis, (low, high) in ((ax.xaxis, x_limits), (ax.yaxis, y_limits)):
        # Within a decade or so, powers of ten alone are too few to read values by.
        narrow = high / low < 40
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=6))
        axis.set_major_formatter((lambda value, _: f"{value:g}") if narrow else LogFormatterSciNotation())
        axis.set_minor_locator(NullLocator() if narrow else LogLocator(subs=range(2, 10), numticks=6))
        axis.set_minor_formatter(NullFormatter())


def ticks(ax: Axes, values: Sequence[int], width: float) -> None:
    """Plain integers at the values there are, as many as fit into `width` inches."""
    low, high = ax.get_xlim()
    inch = 0.85 * width / np.log(high / low)
    labels, left = [], np.inf
    for value in sorted(values, reverse=True):
        half, position = len(str(value)) * 0.035, np.log(value / low) * inch
        fits = position + half < left
        labels.append(str(value) if fits else "")
        left = position - half - 0.03 if fits else left
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(sorted(values), labels[::-1])

"""A grid of panels of distance against the number of observations n, with its legend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from tallsbi.study.figures import style
from tallsbi.study.figures.legend import (
    ABOVE,
    BELOW,
    DIVERGED,
    MARKS,
    UNCERTIFIED,
    add_legend,
    legend_handles,
)
from tallsbi.study.figures.summary import Line, over_seeds

_TIER = 6.0  # points from one mark to the next above it, where several lines need one at the same n


@dataclass(frozen=True)
class Scale:
    """The y axis: limits and ticks; above `linear_up_to` (None: never) it is logarithmic."""

    limits: tuple[float, float] = (-0.1, 1.0)
    ticks: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    linear_up_to: float | None = None


def grid(
    rows: Sequence[tuple[str, pd.DataFrame]],
    column: str,
    lines: Sequence[Line],
    metric: str,
    scale: Scale | None = None,
) -> Figure:
    """The figure: a row of panels per (title, distances), a column per value of `column`."""
    if not rows or not lines:
        raise ValueError("no distances to draw: no problem or no method of this figure is in the data")
    scale = scale or Scale()
    shown = pd.concat([frame for _, frame in rows])
    columns, ticks = sorted(shown[column].unique().tolist()), sorted(shown.n.unique().tolist())
    with style.context():
        width, height = _panel_size(len(rows), len(columns))
        figure = Figure(layout="constrained")
        # Equal axes are set one by one: the work for shared ones grows with the square of their number.
        axes = figure.subplots(len(rows), len(columns), squeeze=False)
        _x_axis(axes, ticks, width)
        _y_axis(axes, scale)
        states: set[str] = set()
        tiers = []
        for row, (text, frame) in zip(axes, rows, strict=True):
            parts = [frame[frame[column] == value] for value in columns]
            drawn = [_panel(ax, part, lines, metric, scale) for ax, part in zip(row, parts, strict=True)]
            states = states.union(*(kinds for kinds, _ in drawn))
            tiers.append(_TIER * max(count for _, count in drawn))
            row_title(row[-1], text)
        for ax, value in zip(axes[0], columns, strict=True):
            ax.set_title(style.title(column, value), pad=5 + tiers[0])
        used = [line for line in lines if len(line.of(shown))]
        total = max(width * len(columns) + 0.9, 4.4)
        legend_rows = add_legend(figure, legend_handles(used, states, shown.seed.nunique()), total)
        figure.set_size_inches(total, height * len(rows) + sum(tiers) / 72 + 0.6 + 0.17 * legend_rows)
        label = style.METRICS.get(metric, metric)
        figure.supylabel(label.replace(" − ", "\n− ") if len(rows) == 1 else label)
    return figure


def row_title(ax: Axes, text: str) -> None:
    """A title to the right of the last panel of a row."""
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (1, 0.5), (7, 0), rotation=270, multialignment="center", **place)


def _panel_size(rows: int, columns: int) -> tuple[float, float]:
    """Inches for one panel: a page is about 7.5 wide and 9 high."""
    return float(np.clip(6.8 / columns, 1.2, 2.4)), float(np.clip(7.6 / rows, 1.25, 1.7))


def _panel(
    ax: Axes, frame: pd.DataFrame, lines: Sequence[Line], metric: str, scale: Scale
) -> tuple[set[str], int]:
    """Draws one panel; returns the kinds of marks it needs, and how many stand on each other at its top."""
    ax.axhline(0, color="0.6", linewidth=0.6, zorder=1, label="_zero")
    states: set[str] = set()
    tops: Counter[int] = Counter()
    bottoms: Counter[int] = Counter()
    for line in lines:
        mine = line.of(frame)
        if mine.empty:
            continue
        points = over_seeds(mine, metric)
        _curve(ax, line, points)
        cells = {
            ABOVE: points["mean"] > scale.limits[1],
            BELOW: points["mean"] < scale.limits[0],
            DIVERGED: points["diverged"],
        }
        for state, where in cells.items():
            tiers = bottoms if state == BELOW else tops
            for n in points.index[where].tolist():
                _mark(ax, n, tiers[n], state, line.look)
                tiers[n] += 1
                states.add(state)
        if not points.certified.all():
            states.add(UNCERTIFIED)
    return states, max(tops.values(), default=0)


def _curve(ax: Axes, line: Line, points: pd.DataFrame) -> None:
    """Mean over seeds with a band of one standard deviation; hollow where the reference is in doubt."""
    look, n, mean, std = line.look, points.index.to_numpy(), points["mean"], points["std"]
    # The edge colour under a pale line keeps it readable on white.
    if look.edge is not None:
        ax.plot(n, mean, look.line, color=look.edge, linewidth=2.0, alpha=0.6, label="_edge")
    marker = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
    marker |= {"markeredgewidth": 0.6, "color": look.color}
    ax.plot(n, mean, linestyle=look.line, alpha=style.LINE_ALPHA, label=line.label, **marker)
    if not points.certified.all():
        doubtful = mean[~points.certified]
        hollow = {**marker, "markerfacecolor": "white", "markeredgewidth": 0.9}
        ax.plot(doubtful.index, doubtful, linestyle="none", label=f"_{UNCERTIFIED}", **hollow)
    if (std > 0).any():
        band = {"color": look.color, "alpha": style.BAND_ALPHA, "linewidth": 0}
        ax.fill_between(n, mean - std, mean + std, label=f"_{line.label}", **band)


def _mark(ax: Axes, n: int, tier: int, state: str, look: style.Look) -> None:
    """A mark at the edge for a mean the axis cannot show, above the `tier` marks already there."""
    marker, size, edge = MARKS[state]
    y = 0 if state == BELOW else 1
    lift = ScaledTranslation(0, (5 + _TIER * tier) / 72, ax.figure.dpi_scale_trans)
    keys = {"marker": marker, "markersize": size, "markeredgewidth": edge, "color": look.edge_color}
    place = {"transform": ax.get_xaxis_transform() + lift, "clip_on": False}
    ax.plot([n], [y], linestyle="none", label=f"_{state}", **keys, **place)


def _x_axis(axes: np.ndarray, ticks: Sequence[int], width: float) -> None:
    """Logarithmic, with plain integers at the n there are, as many as fit into `width` inches."""
    low, high = min(ticks) / 1.3, max(ticks) * 1.3
    inch = 0.85 * width / np.log(high / low)
    labels, left = [], np.inf
    for n in reversed(ticks):
        half = len(str(n)) * 0.035
        position = np.log(n / low) * inch
        fits = position + half < left
        labels.append(str(n) if fits else "")
        left = position - half - 0.03 if fits else left
    for ax in axes.flat:
        ax.set_xscale("log")
        ax.set_xlim(low, high)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xticks(ticks, labels[::-1])
        ax.label_outer()
    for ax in axes[-1]:
        ax.set_xlabel("observations n")


def _y_axis(axes: np.ndarray, scale: Scale) -> None:
    for ax in axes.flat:
        if scale.linear_up_to is not None:
            ax.set_yscale("symlog", linthresh=scale.linear_up_to, linscale=0.6)
        ax.set_ylim(*scale.limits)
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_locator(FixedLocator(scale.ticks))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))

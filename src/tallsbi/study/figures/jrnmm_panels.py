"""Panels against the number of observations n, a line per method, for the neuroscience model (section 4.3).

A method whose samples are not finite has no distance and no test: a cross in its colour stands above the
panel at that n, and one that never has a value is named inside it. Plain JAC is left out, as in the paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from tallsbi.study.figures import summary
from tallsbi.study.figures.benchmark_legend import WIDENED
from tallsbi.study.figures.benchmark_panels import X_LABELS
from tallsbi.study.figures.legend import ABOVE, DIVERGED, MARKS
from tallsbi.study.figures.panels import Scale
from tallsbi.study.figures.style import BAND_ALPHA, LINE_ALPHA, NEUTRAL, Look, method_look
from tallsbi.study.figures.summary import Line, over_seeds

HIDDEN = ("JAC",)
PARTIAL = "draws left out"
TIER = 6.0  # points from one mark above a panel to the next
_MARGIN = 0.04  # of the axis beyond its end ticks, so that points there are seen whole
_ENDS = (1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # of an axis, times a power of ten


@dataclass(frozen=True)
class Drawn:
    """What a panel needs beside its lines: the kinds of marks in it, and how many are stacked at its top."""

    states: Set[str]
    stacked: int


def rows_of(frame: pd.DataFrame, dim: int, what: str) -> pd.DataFrame:
    """The rows of one setting (3-D or 4-D) and of the methods that are shown."""
    mine = frame[(frame.dim == dim) & ~frame.method.isin(HIDDEN)]
    if mine.empty:
        dims = sorted(set(frame.dim.tolist()))
        raise ValueError(
            f"dim = {dim}: no {what} of a method to show in this setting (the data have dim {dims}); run its jobs"
        )
    return mine


def method_lines(frame: pd.DataFrame) -> list[Line]:
    """A line per method, with its number T of time steps where the data have it."""
    if "steps" in frame.columns:
        return summary.method_lines(frame)
    return [Line({"method": name}, name, method_look(name)) for name in dict.fromkeys(frame.method)]


def linear_scale(values: Sequence[float] | np.ndarray, end: float | None = None) -> Scale:
    """From 0 to `end`, the paper's. Without one, or with most values beyond it, up to a round number.

    That number leaves out what lies ten times above the median: a single method that has nearly diverged must
    not press all others to the floor.
    """
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    if end is None or (len(finite) and np.mean(finite > end) > 0.5):
        usual = finite[finite <= 10 * np.median(finite)] if len(finite) else np.ones(1)
        end = axis_end(float(usual.max()))
    return Scale((-_MARGIN * end, (1 + _MARGIN) * end), (0.0, end / 2, end))


def axis_end(value: float) -> float:
    """The next round number, closer than the 1, 2, 5 of the benchmark: a panel here has an axis of its own."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _ENDS if value <= step * power * (1 + 1e-9))


def draw_lines(
    ax: Axes, frame: pd.DataFrame, lines: Sequence[Line], column: str, scale: Scale, dodge: float = 0.0
) -> Drawn:
    """Means of `column` over the rows of each n, with a band of one standard deviation where there are several.

    `dodge`: points by which neighbouring lines are set apart along n.
    """
    y_axis(ax, scale)
    x_axis(ax, sorted(frame.n.unique().tolist()))
    states: set[str] = set()
    tops: Counter[int] = Counter()
    absent = []
    drawn = [line for line in lines if len(line.of(frame))]
    for rank, line in enumerate(drawn):
        mine = line.of(frame)
        points = over_seeds(mine, column).assign(partial=_partial(mine))
        shift = dodge * (rank - (len(drawn) - 1) / 2)
        states |= _curve(ax, line, points, shift)
        marked = {ABOVE: points["mean"] > scale.limits[1], DIVERGED: points["diverged"]}
        for state, where in marked.items():
            for n in points.index[where].tolist():
                _mark(ax, n, tops[n], state, line.look)
                tops[n] += 1
                states.add(state)
        if points.diverged.all():
            absent.append(line.label)
    if absent:
        _name_absent(ax, absent)
    return Drawn(states, max(tops.values(), default=0))


def handles(lines: Sequence[Line], states: Set[str]) -> list[Line2D]:
    """Entries for the lines and for the marks that occur."""
    entries = []
    for line in lines:
        look = line.look
        keys = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
        entries.append(Line2D([], [], color=look.color, linestyle=look.line, label=line.label, **keys))
    for state, (marker, size, edge) in MARKS.items():
        if state in states:
            keys = {"marker": marker, "markersize": size, "markeredgewidth": edge, "color": NEUTRAL}
            entries.append(Line2D([], [], linestyle="none", label=state, **keys))
    if PARTIAL in states:
        hollow = {"marker": "o", "linestyle": "none", "color": NEUTRAL, "markerfacecolor": "white"}
        entries.append(Line2D([], [], label=PARTIAL, **hollow))
    if WIDENED in states:
        entries.append(Line2D([], [], color="0.6", linewidth=0.8, linestyle=":", label=WIDENED))
    return entries


def note(figure: Figure, text: str) -> None:
    """Sizes and constants of the figure, as the title of its legend."""
    legend = figure.legends[0]
    legend.set_title(text, prop={"size": 7.5})
    legend.get_title().set_multialignment("center")


def x_axis(ax: Axes, ticks: Sequence[int]) -> None:
    """n, linear, with ticks at the values there are."""
    margin = 0.09 * max(max(ticks) - min(ticks), 1)
    ax.set_xlim(min(ticks) - margin, max(ticks) + margin)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xlabel(X_LABELS["n"])


def y_axis(ax: Axes, scale: Scale) -> None:
    ax.set_ylim(*scale.limits)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(FixedLocator(scale.ticks))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _partial(frame: pd.DataFrame) -> pd.Series:
    """Per n: whether some of the draws behind a value were left out because they are not finite."""
    share = frame.get("finite_share", pd.Series(1.0, frame.index))
    return share.groupby(frame.n).min() < 1


def _curve(ax: Axes, line: Line, points: pd.DataFrame, shift: float) -> set[str]:
    look, n, mean, std = line.look, points.index.to_numpy(), points["mean"], points["std"]
    place = {"transform": ax.transData + ScaledTranslation(shift / 72, 0, ax.figure.dpi_scale_trans)}
    # The edge colour under a pale line keeps it readable on white.
    if look.edge is not None:
        ax.plot(n, mean, look.line, color=look.edge, linewidth=2.0, alpha=0.6, label="_edge", **place)
    marker = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
    marker |= {"markeredgewidth": 0.6, "color": look.color}
    ax.plot(n, mean, linestyle=look.line, alpha=LINE_ALPHA, label=line.label, **marker, **place)
    if (std > 0).any():
        band = {"color": look.color, "alpha": BAND_ALPHA, "linewidth": 0}
        ax.fill_between(n, mean - std, mean + std, label=f"_{line.label}", **band, **place)
    some = mean[points.partial & mean.notna()]
    if some.empty:
        return set()
    hollow = {**marker, "markerfacecolor": "white", "markeredgewidth": 0.9}
    ax.plot(some.index, some, linestyle="none", label=f"_{PARTIAL}", **hollow, **place)
    return {PARTIAL}


def _mark(ax: Axes, n: int, tier: int, state: str, look: Look) -> None:
    """A mark above the panel, on top of the `tier` marks already there."""
    marker, size, edge = MARKS[state]
    lift = ScaledTranslation(0, (5 + TIER * tier) / 72, ax.figure.dpi_scale_trans)
    keys: Mapping[str, Any] = {
        "marker": marker,
        "markersize": size,
        "markeredgewidth": edge,
        "color": look.edge_color,
    }
    place = {"transform": ax.get_xaxis_transform() + lift, "clip_on": False}
    ax.plot([n], [1], linestyle="none", label=f"_{state}", **keys, **place)


def _name_absent(ax: Axes, labels: Sequence[str]) -> None:
    text = "diverged at every n:\n" + "\n".join(labels)
    box = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.0}
    ax.text(
        0.98, 0.97, text, transform=ax.transAxes, ha="right", va="top", fontsize=6.5, color=NEUTRAL, bbox=box
    )

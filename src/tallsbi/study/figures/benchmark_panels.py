"""Grids of panels of the benchmark (section 4.2): rows tasks, columns n or N_train, lines methods.

What the axis cannot show stands above the panel, in the colour of its method: an arrow for a mean beyond the
axis, ×k where k sets diverged. The mean over the other sets is then drawn hollow: one set of 25 must not
hide the rest, and a mean over survivors must not pass for a mean over all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from tallsbi.study.analysis import exclusion
from tallsbi.study.figures import style
from tallsbi.study.figures.benchmark_cells import BEST, LABELS, over_sets, scale, uncertified
from tallsbi.study.figures.benchmark_legend import ABOVE, ALL_SETS, BELOW, LOST, UNCERTIFIED, WIDENED, handles
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.figures.panels import Scale, row_title
from tallsbi.study.figures.summary import Line, method_lines

# Shown in figures of their own, or (JAC without clipping) in none, as in the paper.
ELSEWHERE = ("JAC", "DET_GEF", "DET_GEF-clip", "TAMED", "TAMED-clip")
X_LABELS = {"n": "observations n", "n_train": r"simulations $N_\mathrm{train}$"}
_OTHER = {"n": "n_train", "n_train": "n"}
_TIER = 6.0  # points from one mark to the next above it


@dataclass(frozen=True)
class Row:
    """A row of panels: `frame` holds the sets averaged over, `every` all sets where that is more."""

    title: str
    frame: pd.DataFrame
    every: pd.DataFrame | None
    scale: Scale


def grid(
    metrics: pd.DataFrame,
    settings: Mapping[str, Any],
    *,
    metric: str,
    x: str,
    tasks: Sequence[str],
    hidden: Container[str] = ELSEWHERE,
) -> Figure:
    """The figure of one metric against `x` (`n_train` or `n`), a column per value of the other of the two."""
    present = set(metrics.task)
    rows = [_row(metrics, settings, task, metric, x, hidden) for task in tasks if task in present]
    if not rows or all(row.frame.empty for row in rows):
        raise ValueError(
            f"tasks = {list(tasks)}: the data have no distances of a method to show for any of them"
        )
    shown = pd.concat([row.frame for row in rows])
    lines, column = method_lines(shown), _OTHER[x]
    columns, ticks = (sorted(shown[name].unique().tolist()) for name in (column, x))
    with style.context():
        width = float(np.clip(6.9 / len(columns), 1.3, 2.4))
        height = float(np.clip(7.4 / len(rows), 1.1, 1.6))
        figure = Figure(layout="constrained")
        axes = figure.subplots(len(rows), len(columns), squeeze=False)
        states: set[str] = set()
        tiers = []
        for panels, row in zip(axes, rows, strict=True):
            drawn = [
                _panel(ax, row, column, value, lines, metric, x)
                for ax, value in zip(panels, columns, strict=True)
            ]
            states = states.union(*(kinds for kinds, _ in drawn))
            tiers.append(_TIER * max(count for _, count in drawn))
            row_title(panels[-1], row.title)
        _x_axis(axes, x, ticks)
        for ax, value in zip(axes[0], columns, strict=True):
            ax.set_title(_column_title(column, value), pad=5 + tiers[0])
        total = max(width * len(columns) + 0.9, 5.0)
        legend_rows = add_legend(figure, handles(lines, states, shown.set.nunique()), total)
        figure.set_size_inches(total, height * len(rows) + sum(tiers) / 72 + 0.6 + 0.17 * legend_rows)
        figure.supylabel(LABELS[metric])
    return figure


def _row(
    metrics: pd.DataFrame,
    settings: Mapping[str, Any],
    task: str,
    metric: str,
    x: str,
    hidden: Container[str],
) -> Row:
    """Title, data and axis of one task; the exclusion rule sees all methods, the row only those shown."""
    label = settings["labels"].get(task, task)
    rule = exclusion.published(metrics, task)
    every = metrics[(metrics.task == task) & ~metrics.method.isin(list(hidden))]
    fewer = settings["exclude"] and bool(rule.excluded)
    frame = exclusion.keep(every, rule) if fewer else every
    count = f"{len(rule.kept)} of {len(rule.sets)} sets" if fewer else _plural(len(rule.sets))
    cells = [over_sets(part, x, metric)["mean"] for _, part in frame.groupby([_OTHER[x], "method", "steps"])]
    means = np.concatenate([cell.to_numpy() for cell in cells]) if cells else np.empty(0)
    return Row(f"{label}\n{count}", frame, every if fewer else None, scale(task, metric, means))


def _plural(sets: int) -> str:
    return f"{sets} sets" if sets != 1 else "1 set"


def _panel(
    ax: Axes, row: Row, column: str, value: int, lines: Sequence[Line], metric: str, x: str
) -> tuple[set[str], int]:
    """Draws one panel; returns the kinds of marks it needs, and how many stand on each other at its top."""
    _y_axis(ax, row.scale)
    ax.axhline(BEST[metric], color="0.6", linewidth=0.6, zorder=1, label="_best possible")
    states: set[str] = set()
    if row.scale.linear_up_to is not None:
        ax.axhline(row.scale.linear_up_to, color="0.6", linewidth=0.6, linestyle=":", label=f"_{WIDENED}")
        states.add(WIDENED)
    frame = row.frame[row.frame[column] == value]
    tops: Counter[float] = Counter()
    bottoms: Counter[float] = Counter()
    for line in lines:
        mine = line.of(frame)
        if mine.empty:
            continue
        points = over_sets(mine, x, metric)
        if row.every is not None:
            whole = line.of(row.every[row.every[column] == value])
            _thin(ax, line, over_sets(whole, x, metric)["mean"])
            states.add(ALL_SETS)
        _curve(ax, line, points)
        for place, point in points.iterrows():
            kinds = _kinds(point, row.scale)
            color = line.look.edge_color
            if text := "↑" * (ABOVE in kinds) + f"×{point.diverged:.0f}" * (LOST in kinds):
                _mark(ax, place, text, color, tops[place], top=True)
                tops[place] += 1
            if BELOW in kinds:
                _mark(ax, place, "↓", color, bottoms[place], top=False)
                bottoms[place] += 1
            states |= kinds
    for place, count in uncertified(frame, x).items():
        _mark(ax, place, f"?{count}", style.NEUTRAL, bottoms[place], top=False)
        states.add(UNCERTIFIED)
    return states, max(tops.values(), default=0)


def _kinds(point: pd.Series, axis: Scale) -> set[str]:
    """What is to be said of a point beside its place."""
    occurs = {
        ABOVE: point["mean"] > axis.limits[1],
        BELOW: point["mean"] < axis.limits[0],
        LOST: point.diverged > 0,
    }
    return {kind for kind, here in occurs.items() if here}


def _curve(ax: Axes, line: Line, points: pd.DataFrame) -> None:
    """Mean with a band of one standard deviation over sets; hollow where sets diverged."""
    look, mean, std = line.look, points["mean"], points["std"]
    if look.edge is not None:
        ax.plot(points.index, mean, look.line, color=look.edge, linewidth=2.0, alpha=0.6, label="_edge")
    marker = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
    marker |= {"markeredgewidth": 0.6, "color": look.color}
    ax.plot(points.index, mean, linestyle=look.line, alpha=style.LINE_ALPHA, label=line.label, **marker)
    survivors = mean[(points.diverged > 0) & mean.notna()]
    if len(survivors):
        hollow = {**marker, "markerfacecolor": "white", "markeredgewidth": 0.9}
        ax.plot(survivors.index, survivors, linestyle="none", label=f"_{LOST}", **hollow)
    if (std > 0).any():
        band = {"color": look.color, "alpha": style.BAND_ALPHA, "linewidth": 0}
        ax.fill_between(points.index, mean - std, mean + std, label=f"_{line.label}", **band)


def _thin(ax: Axes, line: Line, mean: pd.Series) -> None:
    """The mean over all sets, beside that over the kept ones."""
    keys = {"color": line.look.edge_color, "linewidth": 0.6, "alpha": 0.6, "marker": ".", "markersize": 2.0}
    ax.plot(mean.index, mean, linestyle=line.look.line, label=f"_{ALL_SETS} {line.label}", **keys)


def _mark(ax: Axes, place: float, text: str, color: Any, tier: int, *, top: bool) -> None:
    """A mark above the panel, or inside it at the lower edge, beyond the `tier` marks already there."""
    lift = (2.0 if top else 1.0) + _TIER * tier
    where = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": color, "fontweight": "bold"}
    ax.annotate(text, (place, 1.0 if top else 0.0), (0, lift), annotation_clip=False, **where, **look)


def _column_title(column: str, value: int) -> str:
    return f"n = {value}" if column == "n" else rf"$N_\mathrm{{train}}$ = {value}"


def _x_axis(axes: np.ndarray, x: str, ticks: Sequence[int]) -> None:
    """N_train logarithmic, n linear; ticks at the values there are."""
    for ax in axes.flat:
        if x == "n_train":
            ax.set_xscale("log")
            ax.set_xlim(min(ticks) / 1.5, max(ticks) * 1.5)
        else:
            margin = 0.09 * max(max(ticks) - min(ticks), 1)
            ax.set_xlim(min(ticks) - margin, max(ticks) + margin)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xticks(ticks, [_short(tick) for tick in ticks])
        ax.label_outer()
    for ax in axes[-1]:
        ax.set_xlabel(X_LABELS[x])


def _short(value: int) -> str:
    """`30k` for 30000."""
    return f"{value // 1000}k" if value >= 1000 and value % 1000 == 0 else str(value)


def _y_axis(ax: Axes, axis: Scale) -> None:
    if axis.linear_up_to is not None:
        ax.set_yscale("symlog", linthresh=axis.linear_up_to, linscale=0.8)
    ax.set_ylim(*axis.limits)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(FixedLocator(axis.ticks))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")

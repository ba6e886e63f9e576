"""Panels of partial factorisation (appendix): rows metrics, columns tasks, lines method, n_max and encoder.

Colour says the method (blues GAUSS, reds LANGEVIN), its shade and the marker n_max, the line style the
encoder. Some 14 lines share a panel, so the points of one N_train stand side by side, and the standard
deviation over the sets is a bar instead of a band. Marks are those of the benchmark's other figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from tallsbi.study.analysis import exclusion
from tallsbi.study.figures import style
from tallsbi.study.figures.benchmark_cells import BEST, LABELS, over_sets, scale, uncertified
from tallsbi.study.figures.benchmark_legend import ABOVE, ALL_SETS, BELOW, LOST, UNCERTIFIED, WIDENED, handles
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.figures.panels import Scale
from tallsbi.study.figures.summary import Line

METRICS = ("sw", "mmd", "c2st")
SHADES = {"GAUSS": "Blues", "LANGEVIN": "Reds"}
ENCODERS = {"none": "-", "mean": "-", "deep_set": (0, (3, 1.5))}
NAMES = {"mean": "mean", "deep_set": "deep set"}
_MARKERS = ("s", "D", "^", "v", "p", "h")  # by rank of n_max > 1
_DARKEST, _LIGHTEST = 0.85, 0.4  # of the colour map, for n_max > 1
_SPAN = 0.3  # decades that the points of one N_train are spread over, at most
_TIER = 6.0  # points from one mark to the next above it


def lines_of(frame: pd.DataFrame) -> list[Line]:
    """A line per method, n_max and encoder, in that order; n_max = 1 looks like the method elsewhere."""
    sizes = sorted(int(size) for size in frame.n_max.unique() if size > 1)
    lines = []
    for method in dict.fromkeys(frame.method):
        mine = frame[frame.method == method]
        for n_max in sorted(int(size) for size in mine.n_max.unique()):
            present = set(mine.encoder[mine.n_max == n_max])
            for encoder in [name for name in ENCODERS if name in present]:
                where = {"method": method, "n_max": n_max, "encoder": encoder}
                kind = f" {NAMES[encoder]}" if encoder in NAMES else ""
                look = (
                    style.method_look(method) if n_max == 1 else _look(method, sizes.index(n_max), len(sizes))
                )
                lines.append(Line(where, f"{method} {n_max}{kind}", replace(look, line=ENCODERS[encoder])))
    return lines


def _look(method: str, rank: int, count: int) -> style.Look:
    shade = np.linspace(_DARKEST, _LIGHTEST, count)[rank] if count > 1 else (_DARKEST + _LIGHTEST) / 2
    color = matplotlib.colormaps[SHADES.get(method, "Greys")](shade)
    return style.Look(color, _MARKERS[rank % len(_MARKERS)], size=3.6)


def grid(partial: pd.DataFrame, metrics: pd.DataFrame, settings: Mapping[str, Any]) -> Figure:
    """`partial`: distances with columns n_max and encoder; `metrics`: all distances, for the exclusion rule."""
    tasks = [task for task in settings["tasks"] if task in set(partial.task)]
    if not tasks:
        raise ValueError(f"tasks = {settings['tasks']}: the data have no distances of sets for any of them")
    lines, ticks = lines_of(partial), sorted(partial.n_train.unique().tolist())
    n = sorted(partial.n.unique().tolist())
    with style.context():
        figure = Figure(layout="constrained")
        axes = figure.subplots(len(METRICS), len(tasks), squeeze=False)
        states: set[str] = set()
        tiers, titles = [0] * len(METRICS), []
        for column, task in enumerate(tasks):
            every, rule = partial[partial.task == task], exclusion.published(metrics, task)
            fewer = settings["exclude"] and bool(rule.excluded)
            frame = exclusion.keep(every, rule) if fewer else every
            for row, metric in enumerate(METRICS):
                ax = axes[row, column]
                kinds, stacked = _panel(ax, frame, every if fewer else None, lines, task, metric, ticks)
                states |= kinds
                tiers[row] = max(tiers[row], stacked)
            total = every["set"].nunique()
            sets = (
                f"{frame['set'].nunique()} of {total} sets" if fewer else f"{total} set{'s' * (total != 1)}"
            )
            title = f"{settings['labels'].get(task, task)}, n = {', '.join(map(str, n))}\n{sets}"
            titles.append(title)
        for ax, title in zip(axes[0], titles, strict=True):
            ax.set_title(title, pad=5 + _TIER * tiers[0])
        _x_axis(axes, ticks)
        for row, metric in enumerate(METRICS):
            axes[row, 0].set_ylabel(LABELS[metric].replace(" (", "\n("))
        width = max(2.3 * len(tasks) + 0.7, 5.0)
        rows = add_legend(figure, _handles(lines, states, partial["set"].nunique()), width)
        figure.legends[0].set_title(
            "method, $n_\\mathrm{max}$, encoder", {"size": style.RC["legend.fontsize"]}
        )
        figure.set_size_inches(width, 1.65 * len(METRICS) + _TIER * sum(tiers) / 72 + 0.9 + 0.17 * rows)
    return figure


def _handles(lines: Sequence[Line], states: set[str], sets: int) -> list[Any]:
    """The legend's entries; the spread is a bar here and not a band."""
    bar = Line2D(
        [], [], color=style.NEUTRAL, linestyle="none", marker="|", markersize=8, label="± std of sets"
    )
    return [bar if isinstance(entry, Patch) else entry for entry in handles(lines, states, sets)]


def _panel(
    ax: Axes,
    frame: pd.DataFrame,
    every: pd.DataFrame | None,
    lines: Sequence[Line],
    task: str,
    metric: str,
    ticks: Sequence[int],
) -> tuple[set[str], int]:
    """Draws one panel; returns the kinds of marks it needs, and how many stand on each other at its top."""
    cells = {line.label: over_sets(line.of(frame), "n_train", metric) for line in lines}
    means = np.concatenate([cell["mean"].to_numpy() for cell in cells.values()])
    axis = scale(task, metric, means)
    states: set[str] = set()
    _y_axis(ax, axis)
    ax.axhline(BEST[metric], color="0.6", linewidth=0.6, zorder=1, label="_best possible")
    if axis.linear_up_to is not None:
        ax.axhline(axis.linear_up_to, color="0.6", linewidth=0.6, linestyle=":", label=f"_{WIDENED}")
        states.add(WIDENED)
    tops: Counter[int] = Counter()
    bottoms: Counter[int] = Counter()
    for line, factor in zip(lines, _offsets(len(lines), ticks), strict=True):
        points = cells[line.label]
        if points.empty:
            continue
        if every is not None:
            whole = over_sets(line.of(every), "n_train", metric)["mean"]
            thin = {"linewidth": 0.5, "alpha": 0.6, "marker": ".", "markersize": 2.0}
            thin |= {"color": line.look.color, "label": f"_{ALL_SETS} {line.label}"}
            ax.plot(whole.index * factor, whole, **thin)
            states.add(ALL_SETS)
        _curve(ax, line, points, factor)
        for place, point in points.iterrows():
            kinds = _kinds(point, axis)
            if text := "↑" * (ABOVE in kinds) + f"×{point.diverged:.0f}" * (LOST in kinds):
                _mark(ax, place, text, line.look.color, tops[place], top=True)
                tops[place] += 1
            if BELOW in kinds:
                _mark(ax, place, "↓", line.look.color, bottoms[place], top=False)
                bottoms[place] += 1
            states |= kinds
    for place, count in uncertified(frame, "n_train").items():
        _mark(ax, place, f"?{count}", style.NEUTRAL, bottoms[place], top=False)
        states.add(UNCERTIFIED)
    return states, max(tops.values(), default=0)


def _kinds(point: pd.Series, axis: Scale) -> set[str]:
    """What is to be said of a point beside its place."""
    low, high = axis.limits
    occurs = {ABOVE: point["mean"] > high, BELOW: point["mean"] < low, LOST: point.diverged > 0}
    return {kind for kind, here in occurs.items() if here}


def _offsets(count: int, ticks: Sequence[int]) -> np.ndarray:
    """Factors on N_train that put the points of one N_train side by side, clear of its neighbours'."""
    gaps = np.diff(np.log10(ticks))
    half = min(_SPAN, 0.6 * gaps.min()) / 2 if len(gaps) else _SPAN / 2
    return 10 ** np.linspace(-half, half, count) if count > 1 else np.ones(1)


def _curve(ax: Axes, line: Line, points: pd.DataFrame, factor: float) -> None:
    """Mean with a bar of one standard deviation over sets to either side; hollow where sets diverged."""
    look, mean, x = line.look, points["mean"], points.index.to_numpy() * factor
    marker = {
        "marker": look.marker,
        "markersize": look.size,
        "markeredgecolor": "0.25",
        "markeredgewidth": 0.3,
    }
    spread = points["std"].fillna(0.0)
    if (spread > 0).any():
        ax.errorbar(x, mean, spread, fmt="none", ecolor=look.color, elinewidth=0.6, alpha=0.7, zorder=1.5)
    keys = {"color": look.color, "linestyle": look.line, "linewidth": 1.0, "alpha": style.LINE_ALPHA}
    ax.plot(x, mean, label=line.label, **keys, **marker)
    lost = ((points.diverged > 0) & mean.notna()).to_numpy()
    if lost.any():
        hollow = {**marker, "markerfacecolor": "white", "markeredgecolor": look.color, "markeredgewidth": 0.8}
        ax.plot(x[lost], mean[lost], linestyle="none", label=f"_{LOST}", **hollow)


def _mark(ax: Axes, place: float, text: str, color: Any, tier: int, *, top: bool) -> None:
    """A mark above the panel, or inside it at the lower edge, beyond the `tier` marks already there."""
    lift = (2.0 if top else 1.0) + _TIER * tier
    where = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": color, "fontweight": "bold"}
    ax.annotate(text, (place, 1.0 if top else 0.0), (0, lift), annotation_clip=False, **where, **look)


def _x_axis(axes: np.ndarray, ticks: Sequence[int]) -> None:
    for ax in axes.flat:
        ax.set_xscale("log")
        ax.set_xlim(min(ticks) / 1.6, max(ticks) * 1.6)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xticks(ticks, [f"{t // 1000}k" if t >= 1000 and t % 1000 == 0 else str(t) for t in ticks])
        ax.tick_params(labelbottom=ax.get_subplotspec().is_last_row())
    for ax in axes[-1]:
        ax.set_xlabel(r"training parameters $N_\mathrm{train}$")


def _y_axis(ax: Axes, axis: Scale) -> None:
    if axis.linear_up_to is not None:
        ax.set_yscale("symlog", linthresh=axis.linear_up_to, linscale=0.8)
    ax.set_ylim(*axis.limits)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(FixedLocator(axis.ticks))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")

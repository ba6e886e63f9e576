"""GAUSS and LANGEVIN on groups of up to n_max observations (partial factorisation, appendix).

Colour says the method (blues GAUSS, reds LANGEVIN), its shade and the marker n_max, the line style the encoder. Some
14 lines share a panel, so the points of one N_train stand side by side, and the spread is a bar instead of a band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.limits import shortfall
from tallsbi.study.figures.panels import BARS, Panel
from tallsbi.study.figures.points import Line, points
from tallsbi.study.figures.sbibm_panels import LABELS, PERFECT_VALUES, TaskData, distance_axis
from tallsbi.study.settings.artifacts import TaskRows

COLOR_MAPS = {"GAUSS": "Blues", "LANGEVIN": "Reds"}
ENCODER_LINES = {"none": "-", "mean": "-", "deep_set": (0, (3, 1.5))}
ENCODER_NAMES = {"mean": "mean", "deep_set": "deep set"}
X_LABEL = r"training parameters $N_\mathrm{train}$"
_MARKERS = ("s", "D", "^", "v", "p", "h")  # by rank of n_max > 1
_DARKEST, _LIGHTEST = 0.85, 0.4  # of the colour map, for n_max > 1
_GROUP_WIDTH = 0.3  # decades that the points of one N_train take, at most


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Figure:
    """Rows: the three metrics; columns: tasks.

    `data`: distances with n_max and encoder (`partial`), and all distances (`metrics`), for the exclusion rule.
    """
    partial = data["partial"]
    tasks = {
        task: TaskData.of(partial, data["metrics"], task, settings)
        for task in settings.present(partial.task, "distances with groups of observations")
    }
    lines, ticks = lines_of(partial), sorted(partial.n_train.unique().tolist())
    layout = Layout(len(LABELS), len(tasks), widths=(2.3, 2.3), heights=(1.65, 1.65))
    x_axis = ticked_axis(ticks, layout.width, X_LABEL, margin=1.6)
    gaps = np.diff(np.log10(ticks))
    group_width = min(_GROUP_WIDTH, 0.6 * gaps.min()) if len(gaps) else _GROUP_WIDTH
    inches = 0.85 * layout.width * group_width / np.log10(x_axis.limits[1] / x_axis.limits[0])
    rows = []
    for metric, label in LABELS.items():
        panels = []
        for name, task in tasks.items():
            means = [points(line.of(task.frame), metric, "n_train")["mean"].to_numpy() for line in lines]
            panel = Panel(
                task.frame,
                lines,
                metric,
                x_axis,
                distance_axis(
                    name, metric, np.concatenate(means), "" if panels else label.replace(" (", "\n(")
                ),
                by="n_train",
                unit="set",
                all_sets=task.all_sets,
                best=PERFECT_VALUES[metric],
                spread=BARS,
                doubt="point",
                dodge=72 * inches / max(len(lines) - 1, 1),
            )
            panels.append(panel)
        rows.append(("", panels))
    n = ", ".join(map(str, sorted(partial.n.unique().tolist())))
    counts = {task.frame["set"].nunique() for task in tasks.values()}
    return grid(
        rows,
        [f"{settings.labels[name]}, n = {n}\n{task.sets}" for name, task in tasks.items()],
        layout,
        lambda mark_kinds: legend_entries(lines, mark_kinds, "set", counts, bars=True),
        note="method, $n_\\mathrm{max}$, encoder",
        warnings=[shortfall(partial, "samples", "steps")],
    )


def lines_of(frame: pd.DataFrame) -> list[Line]:
    """A line per method, n_max and encoder, in that order; n_max = 1 looks like the method elsewhere."""
    sizes = sorted(int(size) for size in frame.n_max.unique() if size > 1)
    lines = []
    for method in dict.fromkeys(frame.method):
        rows = frame[frame.method == method]
        for n_max in sorted(int(size) for size in rows.n_max.unique()):
            present = set(rows.encoder[rows.n_max == n_max])
            look = style.method_look(method) if n_max == 1 else _look(method, sizes.index(n_max), len(sizes))
            for encoder in [name for name in ENCODER_LINES if name in present]:
                where = {"method": method, "n_max": n_max, "encoder": encoder}
                kind = f" {ENCODER_NAMES[encoder]}" if encoder in ENCODER_NAMES else ""
                lines.append(
                    Line(where, f"{method} {n_max}{kind}", replace(look, line=ENCODER_LINES[encoder]))
                )
    return lines


def _look(method: str, rank: int, count: int) -> style.Look:
    shade = np.linspace(_DARKEST, _LIGHTEST, count)[rank] if count > 1 else (_DARKEST + _LIGHTEST) / 2
    color = matplotlib.colormaps[COLOR_MAPS.get(method, "Greys")](shade)
    return style.Look(color, _MARKERS[rank % len(_MARKERS)], size=3.6, edge=None)

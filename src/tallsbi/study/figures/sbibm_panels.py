"""Distances on the sbibm tasks (section 4.2): rows tasks, columns n or N_train, lines methods.

A point is the mean over the parameter sets whose distance is valid. The axes end where the paper's do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.analysis import exclusion
from tallsbi.study.analysis.validity import comparable
from tallsbi.study.figures.axes import X_LABELS, Axis, axis_from_zero, round_up, ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.limits import shortfall, unequal
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line, method_lines
from tallsbi.study.settings.artifacts import TaskRows

LABELS = {"sw": "sliced Wasserstein (sW)", "mmd": "MMD² (unbiased)", "c2st": "C2ST (0.5: indistinguishable)"}
# Upper ends of the paper's axes, which start at 0 (its C2ST axes: 0.5 to 1.1).
PAPER_ENDS = {
    "slcp": {"sw": 2.0, "mmd": 0.6},
    "lotka_volterra": {"sw": 0.05, "mmd": 1.5},
    "sir": {"sw": 0.01, "mmd": 1.0},
    "gaussian_linear": {"sw": 0.8, "mmd": 1.5},
    "gmm": {"sw": 1.0, "mmd": 2.0},
    "gmm_uniform": {"sw": 2.0, "mmd": 2.0},
    "bernoulli_glm": {"sw": 1.0, "mmd": 2.0},
    "bernoulli_glm_raw": {"sw": 1.0, "mmd": 2.0},
    "two_moons": {"sw": 0.4, "mmd": 0.3},
}
C2ST_AXIS = Axis((0.47, 1.1), (0.5, 0.75, 1.0))
PERFECT_VALUES = {"sw": 0.0, "mmd": 0.0, "c2st": 0.5}  # the value of a perfect sampler
_MAX_WIDENING = 1e4  # a widened axis ends at most this many times above the paper's


@dataclass(frozen=True)
class TaskData:
    """Distances on one task: `frame` on the sets of the averages, `all_sets` on all sets where these are more;
    `sets`: how many they are, in words."""

    frame: pd.DataFrame
    all_sets: pd.DataFrame | None
    sets: str

    @classmethod
    def of(cls, frame: pd.DataFrame, metrics: pd.DataFrame, task: str, settings: TaskRows) -> TaskData:
        """The rows of a task; the exclusion rule looks at `metrics`, which has all methods."""
        all_sets = comparable(frame[frame.task == task])
        rule = exclusion.published(metrics, task, settings.listed)
        if settings.exclude and rule.excluded:
            kept = exclusion.keep(all_sets, rule)
            return cls(kept, all_sets, f"{kept['set'].nunique()} of {count_sets(all_sets)}")
        return cls(all_sets, None, count_sets(all_sets))


def count_sets(frame: pd.DataFrame) -> str:
    """`25 sets`."""
    count = frame["set"].nunique()
    return f"{count} set{'s' * (count != 1)}"


def draw(
    data: Mapping[str, pd.DataFrame],
    settings: TaskRows,
    *,
    metric: str,
    x: str,
    equal_evaluations: bool = False,
) -> Figure:
    """One metric against `x` (n_train or n), a column per value of the other of the two, a line per run of `settings`.

    `equal_evaluations`: the figure says so if its methods do not evaluate the score equally often.
    """
    metrics = data["metrics"]
    frame = metrics[metrics.method.isin(settings.runs)] if settings.runs else metrics
    shown = settings.present(frame.task, "distances of a method to show")
    tasks = {task: TaskData.of(frame, metrics, task, settings) for task in shown}
    all_shown = pd.concat([task.frame for task in tasks.values()])
    column = {"n": "n_train", "n_train": "n"}[x]
    columns = sorted(all_shown[column].unique().tolist())
    layout = Layout(len(tasks), len(columns))
    lines = method_lines(all_shown)
    x_axis = ticked_axis(all_shown[x].unique().tolist(), layout.width, X_LABELS[x], log=x == "n_train")
    rows = []
    for name, task in tasks.items():
        y_axis = distance_axis(name, metric, _means(task.frame, lines, metric, x, column))
        panels = [
            Panel(
                task.frame[task.frame[column] == value],
                lines,
                metric,
                x_axis,
                y_axis,
                by=x,
                unit="set",
                all_sets=None if task.all_sets is None else task.all_sets[task.all_sets[column] == value],
                best=PERFECT_VALUES[metric],
                doubt="point",
            )
            for value in columns
        ]
        rows.append((f"{settings.labels[name]}\n{task.sets}", panels))
    counts = {task.frame["set"].nunique() for task in tasks.values()}
    return grid(
        rows,
        [f"n = {value}" if column == "n" else rf"$N_\mathrm{{train}}$ = {value}" for value in columns],
        layout,
        lambda mark_kinds: legend_entries(lines, mark_kinds, "set", counts),
        label=LABELS[metric],
        warnings=[shortfall(all_shown, "samples", "steps"), unequal(all_shown) if equal_evaluations else ""],
    )


def _means(frame: pd.DataFrame, lines: list[Line], metric: str, *by: str) -> np.ndarray:
    finite = frame[np.isfinite(frame[metric])]
    return np.concatenate([line.of(finite).groupby(list(by))[metric].mean().to_numpy() for line in lines])


def distance_axis(task: str, metric: str, means: np.ndarray, label: str = "") -> Axis:
    """The paper's axis; for a task that the paper does not show, one with a round end.

    A panel in which most points are arrows shows nothing, so with most means beyond its end the axis goes on above it,
    logarithmically.
    """
    if metric == "c2st":
        return Axis(C2ST_AXIS.limits, C2ST_AXIS.ticks, label=label)
    finite = means[np.isfinite(means)]
    end = PAPER_ENDS.get(task, {}).get(metric) or round_up(float(max(finite, default=1.0)))
    # The unbiased MMD² can be slightly negative.
    paper_axis = axis_from_zero(end, label, below=0.05, above=0.0)
    if len(finite) == 0 or np.mean(finite > end) <= 0.5:
        return paper_axis
    top = min(math.ceil(math.log10(finite.max())), math.floor(math.log10(_MAX_WIDENING * end)))
    first = math.floor(math.log10(end)) + 1
    step = max(1, -(-(top - first + 1) // 3))  # three decades at most have a tick
    decades = tuple(10.0**decade for decade in range(top, first - 1, -step))[::-1]
    limits = (paper_axis.limits[0], max(10.0**top, 2 * end))
    return Axis(limits, (0.0, end, *decades), linear_up_to=end, paper_end=end, label=label)

"""Error against n on the Gaussian under the wide prior and under N(0, I) (not in the paper)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures.axes import Axis
from tallsbi.study.figures.points import method_lines, points
from tallsbi.study.figures.toy_panels import problem_rows, toy_grid
from tallsbi.study.settings.artifacts import ToyFigures

TITLES = {"gaussian-wide": "wide prior (published)", "gaussian-standard": "N(0, I) (stated)"}
LINEAR_UP_TO = 0.1
MAX_DECADE = 2  # the axis ends at 10^2 at most; what lies above is marked


def draw(data: Mapping[str, pd.DataFrame], settings: ToyFigures) -> Figure:
    """Rows: the two priors; columns: noise levels; lines: all methods."""
    metrics = data["metrics"]
    rows = problem_rows(metrics, TITLES, settings.dim)
    axis = _axis([frame for _, frame in rows], settings.metric)
    return toy_grid(rows, "noise", method_lines(metrics), settings.metric, axis)


def _axis(frames: list[pd.DataFrame], metric: str) -> Axis:
    """One axis for both rows, logarithmic above 0.1: the two priors may differ by orders of magnitude."""
    highest = max([1.0, *(_highest_mean(frame, metric) for frame in frames)])
    decades = range(-1, min(math.ceil(math.log10(highest)), MAX_DECADE) + 1)
    ticks = (-LINEAR_UP_TO, 0.0, *(10.0**decade for decade in decades))
    return Axis((-LINEAR_UP_TO, ticks[-1]), ticks, linear_up_to=LINEAR_UP_TO)


def _highest_mean(frame: pd.DataFrame, metric: str) -> float:
    groups = frame.groupby(["method", "steps", "noise"])
    return max(points(part, metric, "n", strict=True)["mean"].fillna(0).max() for _, part in groups)

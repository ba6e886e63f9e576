"""Figure toy_prior_width: the Gaussian under the wide prior and under N(0, I) (not in the paper)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import panels, summary

TITLES = {"gaussian-wide": "wide prior (published)", "gaussian-standard": "N(0, I) (stated)"}
LINEAR_UP_TO = 0.1
LARGEST = 2  # the axis ends at 10^2 at most; what lies above is marked


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: the two priors at m = `figure_dim`; columns: noise levels; lines: all methods."""
    metric = settings["metric"]
    rows = summary.problem_rows(data["metrics"], TITLES, settings["figure_dim"])
    lines = summary.method_lines(data["metrics"])
    return panels.grid(rows, "noise", lines, metric, _scale([frame for _, frame in rows], metric))


def _scale(frames: list[pd.DataFrame], metric: str) -> panels.Scale:
    """One axis for both rows, logarithmic above 0.1: the two priors may differ by orders of magnitude."""
    highest = max([1.0, *(_highest_mean(frame, metric) for frame in frames)])
    decades = range(-1, min(math.ceil(math.log10(highest)), LARGEST) + 1)
    ticks = (-LINEAR_UP_TO, 0.0, *(10.0**decade for decade in decades))
    return panels.Scale((-LINEAR_UP_TO, ticks[-1]), ticks, LINEAR_UP_TO)


def _highest_mean(frame: pd.DataFrame, metric: str) -> float:
    groups = frame.groupby(["method", "steps", "noise"])
    return max(summary.over_seeds(part, metric)["mean"].fillna(0).max() for _, part in groups)

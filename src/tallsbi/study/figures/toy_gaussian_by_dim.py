"""Figure toy_gaussian_by_dim: error against n on the Gaussian for every dimension m (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import panels, style, summary

EXCLUDED = "DET_GEF"


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: dimensions m; columns: noise levels; lines: all methods but DET_GEF."""
    metrics = summary.without(summary.gaussian(data, settings), EXCLUDED)
    rows = [(style.title("m", m), part) for m, part in metrics.groupby("m")]
    return panels.grid(rows, "noise", summary.method_lines(metrics), settings["metric"])

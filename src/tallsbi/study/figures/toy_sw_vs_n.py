"""Figure toy_sw_vs_n: error against n on the Gaussian and the mixture, all methods but DET_GEF (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import panels, style, summary

EXCLUDED = "DET_GEF"


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: Gaussian (under `toy_prior`) and mixture at m = `figure_dim`; columns: noise levels."""
    metrics = summary.without(data["metrics"], EXCLUDED)
    prior = settings["toy_prior"]
    titles = {style.GAUSSIANS[prior]: f"Gaussian, {style.PRIORS[prior]}", "mixture": "Gaussian mixture"}
    rows = summary.problem_rows(metrics, titles, settings["figure_dim"])
    return panels.grid(rows, "noise", summary.method_lines(metrics), settings["metric"])

"""Figure det_gef_toy: error against n on the Gaussian and the mixture, with DET_GEF (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import panels, style, summary


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: Gaussian (under `toy_prior`) and mixture at m = `figure_dim`; columns: noise levels."""
    metrics, prior = data["metrics"], settings["toy_prior"]
    titles = {style.GAUSSIANS[prior]: f"Gaussian, {style.PRIORS[prior]}", "mixture": "Gaussian mixture"}
    rows = summary.problem_rows(metrics, titles, settings["figure_dim"])
    return panels.grid(rows, "noise", summary.method_lines(metrics), settings["metric"])

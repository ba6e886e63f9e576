"""Figure toy_gaussian_by_noise: how the score error moves each method's error on the Gaussian (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import panels, summary


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: methods; columns: dimensions m; lines: noise levels."""
    metrics = summary.gaussian(data, settings)
    rows = [(line.label, line.of(metrics)) for line in summary.method_lines(metrics)]
    return panels.grid(rows, "m", summary.noise_lines(metrics), settings["metric"])

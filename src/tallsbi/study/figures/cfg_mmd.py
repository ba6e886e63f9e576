"""Figure cfg_mmd: MMD of GAUSS with the analytic and with a learned prior score (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import guidance_panels


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks of the main text; columns: n."""
    return guidance_panels.grid(data, settings, metric="mmd")

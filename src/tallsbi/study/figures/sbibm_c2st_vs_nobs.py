"""Figure sbibm_c2st_vs_nobs: C2ST against the number of observations (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_panels


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks of the main text; columns: N_train."""
    tasks = settings["tasks"]
    return benchmark_panels.grid(data["metrics"], settings, metric="c2st", x="n", tasks=tasks)

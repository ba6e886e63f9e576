"""Figure sbibm_mmd_vs_ntrain: MMD² against the number of simulations (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_panels


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks of the main text; columns: n."""
    tasks = settings["tasks"]
    return benchmark_panels.grid(data["metrics"], settings, metric="mmd", x="n_train", tasks=tasks)

"""Figure det_gef_sbibm: figure sbibm_sw_vs_ntrain with DET_GEF and DET_GEF-clip (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_panels

HIDDEN = tuple(name for name in benchmark_panels.ELSEWHERE if not name.startswith("DET_GEF"))


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks of the main text; columns: n."""
    tasks = settings["tasks"]
    return benchmark_panels.grid(
        data["metrics"], settings, metric="sw", x="n_train", tasks=tasks, hidden=HIDDEN
    )

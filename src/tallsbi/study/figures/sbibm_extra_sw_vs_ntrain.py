"""Figure sbibm_extra_sw_vs_ntrain: sliced Wasserstein distance against N_train, further tasks (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_panels


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: further tasks; columns: n."""
    tasks = settings["extra_tasks"]
    return benchmark_panels.grid(data["metrics"], settings, metric="sw", x="n_train", tasks=tasks)

"""Figure langevin_tamed: LANGEVIN and tamed ULA, both with and without clipping (appendix on Langevin)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_panels

SHOWN = ("LANGEVIN", "LANGEVIN-clip", "TAMED", "TAMED-clip")


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks of the main text; columns: n."""
    metrics, tasks = data["metrics"], settings["tasks"]
    hidden = set(metrics.method) - set(SHOWN)
    return benchmark_panels.grid(metrics, settings, metric="sw", x="n_train", tasks=tasks, hidden=hidden)

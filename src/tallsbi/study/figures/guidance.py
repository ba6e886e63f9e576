"""GAUSS with the analytic prior score and with one learned by classifier-free guidance (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import sbibm_panels
from tallsbi.study.settings.artifacts import TaskRows

ANALYTIC, LEARNED = "GAUSS", "GAUSS (CFG)"


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows, *, metric: str) -> Figure:
    """Rows: tasks; columns: n; lines: the two scores. `data`: all distances, and those with `guidance`."""
    metrics = data["metrics"]
    distances = pd.concat([metrics[metrics.method == ANALYTIC], data["guidance"].assign(method=LEARNED)])
    shown = replace(settings, runs=(ANALYTIC, LEARNED))
    return sbibm_panels.draw({"metrics": distances}, shown, metric=metric, x="n_train")

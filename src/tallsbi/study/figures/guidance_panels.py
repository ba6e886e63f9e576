"""GAUSS beside GAUSS with classifier-free guidance: the benchmark's panels with these two lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_panels

GUIDED = "GAUSS (CFG)"


def grid(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any], *, metric: str) -> Figure:
    """`data`: the distances of the benchmark, and those with guidance (`cfg`)."""
    metrics = data["metrics"]
    both = pd.concat([metrics[metrics.method == "GAUSS"], data["cfg"].assign(method=GUIDED)])
    return benchmark_panels.grid(
        both, settings, metric=metric, x="n_train", tasks=settings["tasks"], hidden=()
    )

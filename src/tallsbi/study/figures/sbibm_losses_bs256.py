"""Figure sbibm_losses_bs256: training and validation losses with batches of 256 (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_losses


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: tasks of the main text; columns: N_train."""
    return benchmark_losses.grid(data["losses"], settings, batch_size=256)

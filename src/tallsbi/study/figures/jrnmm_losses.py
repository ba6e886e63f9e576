"""Figure jrnmm_losses: training and validation losses of the neuroscience networks, 3-D and 4-D (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import benchmark_losses


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: 3-D and 4-D; columns: N_train, of which the study has one."""
    losses = data["losses"]
    sizes = sorted(set(losses.batch_size.tolist()))
    if len(sizes) != 1:
        raise ValueError(
            f"batch_size = {sizes}: the figure shows the networks of one batch size; train with one only"
        )
    return benchmark_losses.grid(losses, settings, batch_size=sizes[0])

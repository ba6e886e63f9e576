"""Figure jrnmm_lc2st_3d: local classifier two-sample test of each method with the gain known (appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures.jrnmm_lc2st import draw_test


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Statistic and p-value against n."""
    return draw_test(data, settings)

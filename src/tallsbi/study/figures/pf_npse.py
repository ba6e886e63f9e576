"""Figure pf_npse: GAUSS and LANGEVIN on blocks of up to n_max observations (partial factorisation, appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import set_panels


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Rows: the three metrics; columns: the tasks of the main text."""
    return set_panels.grid(data["partial"], data["metrics"], settings)

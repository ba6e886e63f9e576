"""Distances of the Jansen-Rit posteriors to the true parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tallsbi.metrics.dirac import mmd_to_point, scaled_second_moment
from tallsbi.metrics.validity import is_lost, lost_share
from tallsbi.study.columns.jrnmm import DIRAC
from tallsbi.study.settings.measure import DiracSettings
from tallsbi.study.stages.health import usable

if TYPE_CHECKING:
    import xarray as xr


def dirac_table(runs: Iterable[xr.Dataset], settings: DiracSettings) -> pd.DataFrame:
    """A row per method, n and parameter, and `all` for their average; a run that is lost has no distances."""
    rows = []
    for run in runs:
        names = run["parameter"].values.tolist()
        point = np.array([settings.theta[name] for name in names], dtype=np.float64)
        low, high = np.array([settings.bounds[name] for name in names], dtype=np.float64).T
        for n in run["n"].values.tolist():
            draws = run.sel(n=n).isel(set=0)
            kept = usable(draws)
            theta, share = draws["theta"].values[kept], lost_share(kept)
            published = mmd = np.full(len(names), np.nan)
            if not is_lost(share):
                published = scaled_second_moment(theta, point)
                mmd = mmd_to_point(theta, point, (high - low) / np.sqrt(12))
            cell = {
                "dim": len(names),
                "method": run.attrs["method"],
                "steps": int(run.attrs["steps"]),
                "n": n,
                "samples": len(kept),
                "lost_share": share,
            }
            columns = zip([*names, "all"], [*published, published.mean()], [*mmd, mmd.mean()], strict=True)
            rows += [{**cell, "parameter": name, "published": p, "mmd": k} for name, p, k in columns]
    return DIRAC.frame(rows)

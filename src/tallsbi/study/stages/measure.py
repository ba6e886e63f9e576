"""Distances of sbibm samples to their references: sW, MMD^2 and C2ST, in the parameter's own space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tallsbi.metrics.c2st import c2st
from tallsbi.metrics.mmd import mmd2
from tallsbi.metrics.sliced import sliced_wasserstein
from tallsbi.metrics.validity import blew_up, is_lost, starved
from tallsbi.random import integer_seed
from tallsbi.study.columns.sbibm import DISTANCES, PARTIAL
from tallsbi.study.settings.measure import MeasureSettings
from tallsbi.study.stages.health import health_columns, usable
from tallsbi.study.stages.ragged import at

if TYPE_CHECKING:
    import xarray as xr

C2ST_SEED = 1  # sbibm's default: its folds, initial weights and shuffles


def distance_table(
    runs: Sequence[xr.Dataset], references: Mapping[int, xr.Dataset], settings: MeasureSettings
) -> pd.DataFrame:
    """A row per run, n and set; a run that is lost has no distances and says so.

    The values of MMD² and C2ST are sbibm's; whether they mean anything is in `mmd_valid` and `c2st_valid`.
    Runs of networks on groups of observations (`partial`) have the columns `n_max` and `encoder` too.
    """
    rows, pairs = [], {}
    for run in runs:
        attrs = run.attrs
        for n, reference in references.items():
            for index in run["set"].values.tolist():
                cell, truth = at(run, n).sel(set=index), reference.sel(set=index)
                health = health_columns(cell)
                theta = cell["theta"].values[usable(cell)].astype(np.float64)
                draws = truth["theta"].values.astype(np.float64)[: len(theta)]
                # The same directions for all methods: differences between them are not due to the directions.
                name = ("sbibm", attrs["task"], n, index, "directions")
                directions = integer_seed(settings.seed, *name) % 2**32
                sw, mmd, mmd_valid = np.nan, np.nan, not is_lost(health["lost_share"])
                if mmd_valid:
                    sw, _ = sliced_wasserstein(theta, draws, settings.projections, directions)
                    mmd, mmd_valid = mmd2(theta, draws), not blew_up(theta, draws)
                    pairs[len(rows)] = theta, draws
                size = min(len(theta), len(draws))
                enough_samples = not starved(size, theta.shape[1], settings.c2st_samples_per_dim)
                rows.append(
                    {
                        "task": attrs["task"],
                        "n_train": settings.n_train,
                        "n": n,
                        "set": index,
                        "method": attrs["method"],
                        "steps": int(attrs["steps"]),
                        "samples": cell.sizes["sample"],
                        "sw": sw,
                        "mmd": mmd,
                        "mmd_valid": mmd_valid,
                        "c2st_valid": mmd_valid and enough_samples,
                        **health,
                        "reference_passed": bool(truth["passed"].item()),
                        "score_evaluations": int(attrs["score_evaluations"]),
                        **(
                            {"n_max": int(attrs["n_max"]), "encoder": attrs["encoder"]}
                            if "n_max" in attrs
                            else {}
                        ),
                    }
                )
    values = np.full(len(rows), np.nan)
    values[list(pairs)] = c2st(list(pairs.values()), seed=C2ST_SEED, backend=settings.c2st_backend)
    table = PARTIAL if "n_max" in runs[0].attrs else DISTANCES
    return table.frame(
        {**row, "c2st": value, "c2st_valid": bool(row["c2st_valid"] and np.isfinite(value))}
        for row, value in zip(rows, values, strict=True)
    )

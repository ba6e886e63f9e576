"""Distances of benchmark samples to their references: sW, MMD^2 and C2ST, in the parameter's own space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tallsbi.metrics.c2st import c2st
from tallsbi.metrics.mmd import mmd2
from tallsbi.metrics.sliced import sliced_wasserstein
from tallsbi.random import integer_seed

if TYPE_CHECKING:
    import xarray as xr

C2ST_SEED = 1  # sbibm's default: its folds, initial weights and shuffles
HEALTH = ("lost_definiteness", "lost_definiteness_time", "nonfinite", "nonfinite_time")


def distance_table(
    runs: Mapping[str, xr.Dataset],
    references: Mapping[int, xr.Dataset],
    n_train: int,
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """A row per method, n and set; a run with non-finite samples has no distances and says so."""
    metrics, seed, rows, pairs = settings["metrics"], settings["seed"], [], []
    for method, run in runs.items():
        task = run.attrs["task"]
        for n, reference in references.items():
            for index in run["set"].values:
                cell, truth = run.sel(n=n, set=index), reference.sel(set=index)
                theta = cell["theta"].values.astype(np.float64)
                draws = truth["theta"].values.astype(np.float64)[: len(theta)]
                # The same directions for all methods: differences between them are not due to the directions.
                directions = integer_seed(seed, "sbibm", task, int(n), int(index), "directions") % 2**32
                sw, _ = sliced_wasserstein(theta, draws, metrics["projections"], directions)
                pairs.append((theta, draws))
                rows.append(
                    {
                        "task": task,
                        "n_train": n_train,
                        "n": int(n),
                        "set": int(index),
                        "method": method,
                        "steps": int(run.attrs["steps"]),
                        "samples": len(theta),
                        "sw": sw,
                        "mmd": mmd2(theta, draws),
                        "finite_share": float(np.isfinite(theta).all(-1).mean()),
                        **{key: cell[key].item() for key in HEALTH},
                        "reference_passed": bool(truth["passed"].item()),
                    }
                )
    frame = pd.DataFrame(rows)
    accuracies = c2st(pairs, seed=C2ST_SEED, backend=metrics["c2st_backend"])
    frame.insert(frame.columns.get_loc("mmd") + 1, "c2st", accuracies)
    return frame

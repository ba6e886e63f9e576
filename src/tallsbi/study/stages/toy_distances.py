"""Distances of the toy samples to their references, as one tidy table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tallsbi.metrics.sliced import baseline, sliced_wasserstein
from tallsbi.random import integer_seed, numpy_generator

if TYPE_CHECKING:
    import xarray as xr

HEALTH = ("lost_definiteness", "lost_definiteness_time", "nonfinite", "nonfinite_time")


def distance_table(
    runs: Iterable[xr.Dataset], reference: xr.Dataset, settings: Mapping[str, Any], progress: Callable = iter
) -> pd.DataFrame:
    """A row per run, n and seed.

    `sw` and `max_sw` are raw, `*_self` the reference's distance to itself at the same sample size, and
    `*_norm` their difference. The directions are the same for all methods.
    """
    projections, repeats = settings["metrics"]["projections"], settings["metrics"]["self_distances"]
    seed, samples = settings["seed"], settings["toy"]["samples"]
    problem, m = reference.attrs["problem"], int(reference.attrs["m"])
    baselines: dict[tuple[int, int], tuple[float, float]] = {}
    rows = []
    for run in progress(list(runs)):
        for n in run["n"].values:
            for index in run["seed"].values:
                cell = run.sel(n=n, seed=index)
                truth = reference.sel(n=n, seed=index)
                draws = truth["theta"].values
                key = (int(n), int(index))
                if key not in baselines:
                    rng = numpy_generator(seed, "toy", problem, m, *key, "self-distance")
                    baselines[key] = baseline(draws, samples, repeats, projections, rng)
                directions = integer_seed(seed, "toy", problem, m, *key, "directions") % 2**32
                theta = cell["theta"].values
                sw, max_sw = sliced_wasserstein(theta, draws[:samples], projections, directions)
                sw_self, max_sw_self = baselines[key]
                rows.append(
                    {
                        "problem": problem,
                        "m": m,
                        "noise": float(run.attrs["noise"]),
                        "n": int(n),
                        "seed": int(index),
                        "method": run.attrs["method"],
                        "steps": int(run.attrs["steps"]),
                        "samples": len(theta),
                        "sw": sw,
                        "sw_self": sw_self,
                        "sw_norm": sw - sw_self,
                        "max_sw": max_sw,
                        "max_sw_self": max_sw_self,
                        "max_sw_norm": max_sw - max_sw_self,
                        "finite_share": float(np.isfinite(theta).all(-1).mean()),
                        **{key: cell[key].item() for key in HEALTH},
                        "reference_passed": bool(truth["passed"].item()),
                        "score_evaluations": int(run.attrs["score_evaluations"]),
                    }
                )
    return pd.DataFrame(rows)

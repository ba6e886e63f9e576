"""Distances of the toy samples to their references, as one tidy table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tallsbi.metrics.sliced import baseline, sliced_wasserstein
from tallsbi.metrics.validity import is_lost
from tallsbi.random import integer_seed, numpy_generator
from tallsbi.study.columns.toy import DISTANCES
from tallsbi.study.settings.toy import ToyMeasureSettings
from tallsbi.study.stages.health import health_columns, usable

if TYPE_CHECKING:
    import xarray as xr


def distance_table(
    runs: Iterable[xr.Dataset], reference: xr.Dataset, settings: ToyMeasureSettings, progress: Callable = iter
) -> pd.DataFrame:
    """A row per run, n and seed; a run that is lost has no distances.

    `sw` and `max_sw` are raw, `*_self` the reference's distance to itself at the same sample size, and
    `*_norm` their difference. The directions are the same for all methods.
    """
    seed, samples = settings.seed, settings.samples
    problem, m = reference.attrs["problem"], int(reference.attrs["m"])
    baselines: dict[tuple[int, int], tuple[float, float]] = {}
    rows = []
    for run in progress(list(runs)):
        for n in settings.n_obs:
            for index in run["seed"].values.tolist():
                cell, truth = run.sel(n=n, seed=index), reference.sel(n=n, seed=index)
                draws, key, health = truth["theta"].values, (n, index), health_columns(cell)
                theta = cell["theta"].values[usable(cell)]
                if key not in baselines:
                    rng = numpy_generator(seed, "toy", problem, m, *key, "self-distance")
                    baselines[key] = baseline(
                        draws, samples, settings.self_distances, settings.projections, rng
                    )
                directions = integer_seed(seed, "toy", problem, m, *key, "directions") % 2**32
                sw = max_sw = np.nan
                if not is_lost(health["lost_share"]):
                    equally_many = draws[: len(theta)]
                    sw, max_sw = sliced_wasserstein(theta, equally_many, settings.projections, directions)
                sw_self, max_sw_self = baselines[key]
                rows.append(
                    {
                        "problem": problem,
                        "m": m,
                        "noise": float(run.attrs["noise"]),
                        "n": n,
                        "seed": index,
                        "method": run.attrs["method"],
                        "steps": int(run.attrs["steps"]),
                        "samples": cell.sizes["sample"],
                        "sw": sw,
                        "sw_self": sw_self,
                        "sw_norm": sw - sw_self,
                        "max_sw": max_sw,
                        "max_sw_self": max_sw_self,
                        "max_sw_norm": max_sw - max_sw_self,
                        **health,
                        "reference_passed": bool(truth["passed"].item()),
                        "score_evaluations": int(run.attrs["score_evaluations"]),
                    }
                )
    return DISTANCES.frame(rows)

"""Behaviour with many observations: error, time and memory as n grows to a thousand.

The posterior narrows with n, so the error is relative: the sW to the reference over the reference's own spread,
the root of the mean variance of its coordinates. Observations and references are those of this study alone. Times
and memory are of one dataset, on one thread with nothing beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tallsbi.algorithms import configured
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import torch_generator
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.stages.costs import check_sizes, distance, peak_growth, self_distance, solve
from tallsbi.study.tasks import load

if TYPE_CHECKING:
    import xarray as xr

WARM_UP_STEPS = 2


def many_table(
    name: str,
    saved: SavedNetwork,
    observed: xr.Dataset,
    truth: xr.Dataset,
    n_train: int,
    settings: Mapping[str, Any],
    progress: Callable = iter,
) -> pd.DataFrame:
    """A row per n and set of `settings["many"]` and per method: `error` (relative), `seconds`, `memory` (MiB).

    `error_self` is the relative error of reference draws. A method takes `max_steps` time steps at most.
    """
    plan, seed, metrics = settings["many"], settings["seed"], settings["metrics"]
    x, samples = observed["x"].values, plan["samples"]
    check_sizes("many", plan, x.shape[0], x.shape[1])
    posterior = NetworkEngine.configured(saved, load(name).prior, settings)

    def algorithm(method: str, most: int) -> Any:
        chosen = settings["methods"][method]
        return configured(method, {**chosen, "steps": min(chosen["steps"], most)}, settings)

    def generator(*stream: str | int) -> Any:
        return torch_generator(seed, "sbibm", name, "many", n_train, *stream, device=settings["device"])

    sets = observed["set"].values[: plan["sets"]].tolist()
    truths = {
        (n, index): truth["theta"].sel(n=n, set=index).values.astype(np.float64)
        for n, index in product(plan["n_obs"], sets)
    }
    own = {
        cell: self_distance(draws, samples, metrics, seed, ("sbibm", name, "many", *cell))
        for cell, draws in truths.items()
    }
    # What is allocated once and for all, by the libraries, is no memory of the first method or n.
    for method in settings["methods"]:
        few = algorithm(method, WARM_UP_STEPS)
        solve(posterior, few, x[0, : sorted(plan["n_obs"])[:2][-1]], samples, generator("warm-up"))
    rows = []
    for n, b, method in progress(list(product(plan["n_obs"], range(plan["sets"]), settings["methods"]))):
        chosen, cell = algorithm(method, plan["max_steps"]), (n, sets[b])
        done, memory = peak_growth(
            partial(solve, posterior, chosen, x[b, :n], samples, generator(method, *cell))
        )
        spread = float(np.sqrt(truths[cell].var(0, ddof=1).mean()))
        sw = distance(done.theta, truths[cell], metrics, seed, ("sbibm", name, "many", *cell))
        rows.append(
            {
                "task": name,
                "n_train": n_train,
                "n": n,
                "set": sets[b],
                "method": method,
                "steps": chosen.steps,
                "samples": samples,
                "spread": spread,
                "error": sw / spread,
                "error_self": own[cell] / spread,
                "seconds": done.seconds,
                "memory": memory,
                "finite_share": done.finite_share,
                "reference_passed": bool(truth["passed"].sel(n=n, set=sets[b]).item()),
            }
        )
    return pd.DataFrame(rows)

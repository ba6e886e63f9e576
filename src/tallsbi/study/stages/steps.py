"""Accuracy against the number T of time steps, and against time, for every method.

Times are measured as those of the toy study (`stages.toy_timing`): in one process with nothing beside it, on
one thread, one dataset at a time, in an order drawn at random so that a slow moment of the machine hits all
alike, after every method ran once at the fewest steps. A run that diverges is a result: it has a time, a share of
finite samples below 1, and no distance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tallsbi.algorithms import configured
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import numpy_generator, torch_generator
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.stages.costs import check_sizes, distance, self_distance, solve
from tallsbi.study.tasks import load

if TYPE_CHECKING:
    import xarray as xr


def steps_table(
    name: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    references: Mapping[int, xr.Dataset],
    n_train: int,
    settings: Mapping[str, Any],
    progress: Callable = iter,
) -> pd.DataFrame:
    """A row per n, set, method and T of `settings["steps"]`, with the sW to the reference and the seconds it took.

    `sw_self`: the sW of the reference to itself, which no sampler can be expected to undercut (NaN if it has
    fewer than twice as many draws). `settings["methods"]`: the settings of each, of which T is replaced.
    """
    plan, seed, metrics = settings["steps"], settings["seed"], settings["metrics"]
    x, samples = observations["x"].values, plan["samples"]
    check_sizes("steps", plan, x.shape[0], x.shape[1])
    posterior = NetworkEngine.configured(saved, load(name).prior, settings)

    sets = observations["set"].values[: plan["sets"]].tolist()
    truths = {
        (n, index): references[n].sel(set=index)["theta"].values.astype(np.float64)
        for n, index in product(plan["n_obs"], sets)
    }
    own = {
        cell: self_distance(draws, samples, metrics, seed, ("sbibm", name, "steps", *cell))
        for cell, draws in truths.items()
    }

    def run(n: int, b: int, method: str, steps: int) -> dict[str, Any]:
        algorithm = configured(method, {**settings["methods"][method], "steps": steps}, settings)
        cell = (n, sets[b])
        stream = torch_generator(
            seed, "sbibm", name, "steps", n_train, method, steps, *cell, device=settings["device"]
        )
        done = solve(posterior, algorithm, x[b, :n], samples, stream)
        return {
            "task": name,
            "n_train": n_train,
            "n": n,
            "set": sets[b],
            "method": method,
            "steps": steps,
            "samples": samples,
            "sw": distance(done.theta, truths[cell], metrics, seed, ("sbibm", name, "steps", *cell)),
            "sw_self": own[cell],
            "seconds": done.seconds,
            "score_evaluations": algorithm.score_evaluations,
            "finite_share": done.finite_share,
            "reference_passed": bool(references[n]["passed"].sel(set=sets[b]).item()),
        }

    for n, method in product(plan["n_obs"], settings["methods"]):
        run(n, 0, method, min(plan["grid"]))
    cells = list(product(plan["n_obs"], range(plan["sets"]), settings["methods"], plan["grid"]))
    order = numpy_generator(seed, "sbibm", name, "steps", "order").permutation(len(cells))
    rows = {k: run(*cells[k]) for k in progress(order.tolist())}
    return pd.DataFrame([rows[k] for k in range(len(cells))])

"""Sampling times of the algorithms, measured fairly.

All methods are timed in one process with nothing beside it, one thread each, in turns: every round goes
through all cells and methods once, in an order drawn anew, so that a slow moment of the machine
hits all alike. Before the first round every method runs once at the fewest steps, to warm up caches and
compilers. GAUSS includes its covariance runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from tallsbi.algorithms import configured
from tallsbi.random import numpy_generator
from tallsbi.study.stages.toy_sampling import run
from tallsbi.study.tasks.toy import make_toy


def time_methods(
    problem: str, dim: int, settings: Mapping[str, Any], progress: Callable = iter
) -> pd.DataFrame:
    """A row per n, T, method and round: seconds for one dataset."""
    timing, seed = settings["toy"]["timing"], settings["seed"]
    toy = make_toy(problem, dim, 1, max(timing["n_obs"]), settings["toy"], seed)
    rounds = {0: list(product(timing["n_obs"], [min(timing["steps"])], settings["methods"]))}
    cells = list(product(timing["n_obs"], timing["steps"], settings["methods"]))
    order = numpy_generator(seed, "toy", "timing", problem, dim)
    rounds |= {i + 1: [cells[k] for k in order.permutation(len(cells))] for i in range(timing["repeats"])}
    rows = []
    for round_, turns in progress(list(rounds.items())):
        for n, steps, method in turns:
            algorithm = configured(method, {**settings["methods"][method], "steps": steps}, settings)
            noise = settings["toy"]["table"]["noise"]
            start = time.perf_counter()
            run(
                toy,
                algorithm,
                method,
                n,
                noise,
                timing["samples"],
                seed,
                settings["dtype"],
                settings["device"],
            )
            rows.append(
                (problem, dim, n, steps, method, timing["samples"], round_, time.perf_counter() - start)
            )
    columns = ["problem", "m", "n", "steps", "method", "samples", "round", "seconds"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame[frame["round"] > 0].sort_values(columns[:-1], ignore_index=True)

"""Sampling times of the algorithms, measured fairly.

All methods are timed in one process with nothing beside it, one thread each, in turns: every round goes
through all cells and methods once, in an order drawn anew, so that a slow moment of the machine
hits all alike. The first round warms up caches and compilers and is thrown away. GAUSS includes its
covariance runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from tallsbi.study.seeds import numpy_generator
from tallsbi.toy.problems import make_toy
from tallsbi.toy.sampling import configured, run


def time_methods(
    problem: str, dim: int, settings: Mapping[str, Any], progress: Callable = iter
) -> pd.DataFrame:
    """A row per n, T, method and round: seconds for one dataset."""
    timing, seed = settings["toy"]["timing"], settings["seed"]
    toy = make_toy(problem, dim, 1, max(timing["n_obs"]), settings["toy"], seed)
    cells = list(product(timing["n_obs"], settings["toy"]["steps"], settings["methods"]))
    order = numpy_generator(seed, "toy", "timing", problem, dim)
    rows = []
    for round_ in progress(range(timing["repeats"] + 1)):
        for cell in order.permutation(len(cells)):
            n, steps, method = cells[cell]
            algorithm = configured(method, {**settings["methods"][method], "steps": steps}, settings)
            start = time.perf_counter()
            run(
                toy,
                algorithm,
                method,
                n,
                settings["toy"]["table"]["noise"],
                timing["samples"],
                seed,
                settings["dtype"],
                settings["device"],
            )
            seconds = time.perf_counter() - start
            if round_ > 0:
                rows.append((problem, dim, n, steps, method, timing["samples"], round_, seconds))
    columns = ["problem", "m", "n", "steps", "method", "samples", "round", "seconds"]
    return pd.DataFrame(rows, columns=columns).sort_values(columns[:-1], ignore_index=True)

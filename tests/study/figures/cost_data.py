"""Made-up accuracies, times and memory that look like the study's."""

from itertools import product

import numpy as np
import pandas as pd

GRID = (25, 50, 100, 400, 1000)
# Per method: evaluations of the score per step, distance at many steps, and what few steps cost.
METHODS = {
    "GAUSS": (1.0, 0.30, 30.0),
    "JAC": (6.0, 0.35, 40.0),
    "LANGEVIN": (5.0, 0.6, 100.0),
    "DET_GEF": (1.0, 0.5, 200.0),
    "TAMED": (5.0, 0.55, 60.0),
    "GAUSS_PD": (1.0, 0.27, 1.5),
    "JAC_PD": (6.0, 0.3, 3.0),
}
SIZE = {"slcp": 1.0, "lotka_volterra": 0.006, "sir": 0.004}


def steps(tasks=tuple(SIZE), methods=METHODS, grid=GRID, n_obs=(8, 30), sets=3, seed=0):
    """Distances that fall with T towards a floor; JAC diverges on one set at few steps, LANGEVIN on all."""
    rng = np.random.default_rng(seed)
    rows = []
    for task, n, b, (method, (cost, floor, slope)), T in product(
        tasks, n_obs, range(sets), methods.items(), grid
    ):
        lost = (method == "JAC" and T < 100 and b == 0) or (method == "LANGEVIN" and T < 50)
        value = SIZE.get(task, 0.3) * (floor + slope / T) * np.exp(0.2 * rng.normal())
        extra = 100 if method.startswith("GAUSS") else 0
        rows.append(
            {
                "task": task,
                "n_train": 30000,
                "n": n,
                "set": b,
                "method": method,
                "steps": T,
                "samples": 500,
                "sw": np.nan if lost else value,
                "sw_self": SIZE.get(task, 0.3) * 0.1,
                "seconds": n * (cost * T + extra) * 2e-3 * np.exp(0.05 * rng.normal()),
                "score_evaluations": T + extra,
                "lost_share": 0.5 if lost else 0.0,
                "reference_passed": True,
            }
        )
    return pd.DataFrame(rows)


def many(tasks=("gaussian_linear", "sir"), n_obs=(1, 10, 100, 1000), sets=1, seed=0):
    """Errors that grow with n; LANGEVIN diverges at n = 1000, the memory of GAUSS grows with n."""
    rng = np.random.default_rng(seed)
    chosen = {"GAUSS": (400, 0.3), "GAUSS_PD": (50, 0.25), "DET_GEF": (400, 0.9), "LANGEVIN": (400, 0.6)}
    rows = []
    for task, n, b, (method, (T, power)) in product(tasks, n_obs, range(sets), chosen.items()):
        lost = method == "LANGEVIN" and n >= 1000
        rows.append(
            {
                "task": task,
                "n_train": 30000,
                "n": n,
                "set": b,
                "method": method,
                "steps": T,
                "samples": 500,
                "spread": 0.1 / np.sqrt(n),
                "error": np.nan if lost else 0.2 * n**power * np.exp(0.1 * rng.normal()),
                "error_self": 0.06,
                "seconds": 0.02 + 4e-3 * n * T / 100,
                "memory": 2.0 + (0.15 * n if method == "GAUSS" else 0.02 * min(n, 200)),
                "lost_share": 1.0 if lost else 0.0,
                "reference_passed": True,
            }
        )
    return pd.DataFrame(rows)

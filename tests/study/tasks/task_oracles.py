"""What several tests of the tasks share: sbibm's shipped data, exact trajectories, two-sample tests."""

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.stats
from scipy.integrate import solve_ivp

from tallsbi.study.tasks.base import use_float64

use_float64()

OBSERVATIONS = range(1, 11)


def shipped(task, what, number):
    """Row of one of sbibm's files; SIR and Lotka-Volterra cannot be imported without Julia."""
    folder = Path(find_spec("sbibm").submodule_search_locations[0], "tasks", task, "files")
    with open(folder / f"num_observation_{number}" / f"{what}.csv", newline="") as file:
        rows = list(csv.reader(file))
    return np.array(rows[1], dtype=float)


def exact_trajectory(rates, start, times):
    """scipy's solution of a' = alpha - beta e^b, b' = -gamma + delta e^a, to 1e-12."""
    alpha, beta, gamma, delta = rates

    def slope(t, y):
        return [alpha - beta * np.exp(y[1]), delta * np.exp(y[0]) - gamma]

    return solve_ivp(slope, (0, times[-1]), start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times).y.T


def smallest_p_value(first, second, projections=20, seed=0):
    """Bonferroni-corrected p-value of Kolmogorov-Smirnov tests on all coordinates and random projections."""
    rng = np.random.default_rng(seed)
    scale = np.concatenate([first, second]).std(0) + 1e-12
    axes = np.concatenate([np.eye(first.shape[1]), rng.standard_normal((projections, first.shape[1]))])
    p = [scipy.stats.ks_2samp(first / scale @ a, second / scale @ a, method="asymp").pvalue for a in axes]
    return min(1.0, min(p) * len(p))

"""Training simulations and observations of a problem, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallsbi.study.tasks.base import TrainingProblem

if TYPE_CHECKING:
    import xarray as xr


def simulations(
    problem: TrainingProblem, count: int, seed: int, members: int | None = None, threads: int = 1
) -> xr.Dataset:
    """`count` pairs (theta, x); a smaller training set is a prefix of a larger one.

    With `members` there are as many observations of each parameter, all with noise of their own: a network on groups
    of n_max observations so has a budget of N_train x n_max simulations. Every place in a group has its own stream, so
    fewer parameters or fewer members are a prefix of more.
    """
    import xarray as xr

    theta = problem.training_parameters(count, seed)
    if members is None:
        dims: tuple[str, ...] = ("simulation", "feature")
        x = problem.simulations(theta, seed, "simulations", threads=threads)
    else:
        dims = ("simulation", "member", "feature")
        x = np.empty((count, members, problem.dim_x), np.float32)
        for place in range(members):
            x[:, place] = problem.simulations(theta, seed, "sets", place, threads=threads)
    return xr.Dataset(
        {"theta": (("simulation", "parameter"), theta.astype(np.float32)), "x": (dims, x.astype(np.float32))},
        coords={"parameter": list(problem.parameter_names)},
        attrs={"task": problem.name},
    )


def observations(problem: TrainingProblem, sets: int, count: int, seed: int, threads: int = 1) -> xr.Dataset:
    """`count` observations of each of the parameters to infer, with noise of their own."""
    theta = problem.true_parameters(sets)
    return _observed(
        problem, theta, problem.observations(theta, count, seed, "observations", threads=threads)
    )


def calibration(problem: TrainingProblem, pairs: int, n: int, seed: int, threads: int = 1) -> xr.Dataset:
    """`pairs` parameters of the prior with n observations each; fewer pairs are a prefix."""
    theta = problem.prior_draws(pairs, seed, "calibration")
    x = problem.observations(theta, n, seed, "calibration", threads=threads)
    return _observed(problem, theta, x.astype(np.float32))


def _observed(problem: TrainingProblem, theta: np.ndarray, x: np.ndarray) -> xr.Dataset:
    import xarray as xr

    return xr.Dataset(
        {
            "theta": (("set", "parameter"), theta.astype(np.float32)),
            "x": (("set", "observation", "feature"), x),
        },
        coords={"parameter": list(problem.parameter_names), "set": np.arange(len(theta))},
        attrs={"task": problem.name},
    )

"""Training simulations and observations of a task, as files.

The parameters are the paper's own: theta of the training set and the sets theta* come from one stream with
a fixed seed (see `tallsbi.study.tasks.base`). Simulator noise is the study's, independent for every simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallsbi.random import numpy_generator
from tallsbi.study.tasks import load

if TYPE_CHECKING:
    import xarray as xr


def simulations(name: str, count: int, seed: int) -> xr.Dataset:
    """`count` pairs (theta, x); a smaller training set is the beginning of a larger one."""
    import xarray as xr

    task = load(name)
    theta = task.theta_train(count)
    x = task.simulate(theta.astype(np.float64), numpy_generator(seed, "sbibm", name, "simulations"))
    return xr.Dataset(
        {
            "theta": (("simulation", "parameter"), theta.astype(np.float32)),
            "x": (("simulation", "feature"), x.astype(np.float32)),
        },
        coords={"parameter": list(task.parameter_names)},
        attrs={"task": name},
    )


def observations(name: str, sets: int, count: int, seed: int) -> xr.Dataset:
    """`count` observations of each parameter set theta*, with noise of their own."""
    import xarray as xr

    task = load(name)
    theta = task.theta_star(sets)
    x = task.observe(
        theta.astype(np.float64), count, lambda b: numpy_generator(seed, "sbibm", name, "observations", b)
    )
    return xr.Dataset(
        {
            "theta": (("set", "parameter"), theta.astype(np.float32)),
            "x": (("set", "observation", "feature"), x.astype(np.float64)),
        },
        coords={"parameter": list(task.parameter_names), "set": np.arange(sets)},
        attrs={"task": name},
    )


def set_simulations(name: str, count: int, members: int, seed: int) -> xr.Dataset:
    """`members` observations of each of `count` training parameters, all with noise of their own.

    A network on sets of n_max observations so has a budget of N_train x n_max simulations. A stream per place: fewer
    parameters and fewer members are both the beginning of more of them.
    """
    import xarray as xr

    task = load(name)
    theta = task.theta_train(count)
    x = np.empty((count, members, task.dim_x), np.float32)
    for place in range(members):
        x[:, place] = task.simulate(
            theta.astype(np.float64), numpy_generator(seed, "sbibm", name, "sets", place)
        )
    return xr.Dataset(
        {
            "theta": (("simulation", "parameter"), theta.astype(np.float32)),
            "x": (("simulation", "member", "feature"), x),
        },
        coords={"parameter": list(task.parameter_names)},
        attrs={"task": name},
    )

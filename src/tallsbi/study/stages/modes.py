"""How many modes the sbibm posteriors have: local maxima found from many starts.

The maxima are sought in the prior's latent space (log theta for log-normal priors). Those whose density is below
e^-10 of the highest do not count, because no sampler would meet them. Maxima closer than a twentieth of the prior's
standard deviation count as one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.optimize import minimize

from tallsbi.random import torch_generator
from tallsbi.study.columns.run import THEORY
from tallsbi.study.settings.theory import TheorySettings
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tasks import load
from tallsbi.study.tasks.base import Task, use_float64

STARTS = 40
NEGLIGIBLE_NATS = 10.0
MERGE_DISTANCE = 0.05


def table(settings: TheorySettings) -> pd.DataFrame:
    """A row per task and parameter set: the number of modes given n observations."""
    rows, n = [], settings.n
    for name in settings.tasks:
        task = load(name)
        x = observations(task, settings.sets, n, settings.seed)["x"].values
        starts = task.prior.sample(STARTS, torch_generator(settings.seed, "modes", name))
        density = log_posterior(task)
        for index in range(settings.sets):
            maxima = modes(task, density, x[index], starts.double().numpy())
            rows.append(("modes", name, "", task.dim_theta, n, 0, index, float(len(maxima))))
    return THEORY.frame(rows)


def log_posterior(task: Task) -> Callable:
    """Value and gradient of the log-density of the latent parameter, compiled, as a function of (z, x)."""
    use_float64()
    import jax
    import jax.numpy as jnp

    prior = task.prior.standard_map()

    def density(z: Any, x: Any) -> Any:
        if prior.outer == "exp":
            deviation = (z - prior.offset) / prior.scale
            return task.log_likelihood(jnp.exp(z), x) - 0.5 * jnp.sum(deviation**2)
        return task.log_likelihood(z, x)

    return jax.jit(jax.value_and_grad(density))


def modes(
    task: Task, density: Callable, x: Float[np.ndarray, "n d"], starts: Float[np.ndarray, "k m"]
) -> Float[np.ndarray, "modes m"]:
    """The distinct local maxima, in units of the prior's standard deviation, the highest first."""
    box, bounds = task.prior.support(), None
    points = starts if box is not None else np.log(starts)
    scale = points.std(0)
    if box is not None:
        bounds = list(zip(*(bound.double().numpy() for bound in box), strict=True))

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = density(z, x)
        finite = np.isfinite(value) and np.isfinite(gradient).all()
        return (-float(value), -np.asarray(gradient)) if finite else (1e300, np.zeros_like(z))

    runs = [
        minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 500})
        for start in points
    ]
    best = min(run.fun for run in runs)
    distinct: list[np.ndarray] = []
    for run in sorted(runs, key=lambda run: run.fun):
        maximum = run.x / scale
        if run.fun < best + NEGLIGIBLE_NATS and all(
            np.abs(maximum - other).max() > MERGE_DISTANCE for other in distinct
        ):
            distinct.append(maximum)
    return np.array(distinct)

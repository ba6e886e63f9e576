"""Lotka-Volterra: prey u and predators v, u' = (alpha - beta v) u, v' = (delta u - gamma) v, from (30, 1).

The four rates are log-normal. Both populations are seen at t = 0, 2.1, ..., 18.9, first all of u and then
all of v, each times a log-normal factor of scale 0.1, after clipping to [1e-10, 1e4]. Parameters and
observations are modelled in logarithms.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors.lognormal import LogNormal
from tallsbi.study.tasks.base import Task, float64_numpy

START = np.array([math.log(30.0), 0.0])
TIMES = 2.1 * np.arange(10)
CLIP = (math.log(1e-10), math.log(1e4))
NOISE = 0.1


class LotkaVolterra(Task):
    name = "lotka_volterra"
    label = "Lotka-Volterra"
    dim_x = 2 * len(TIMES)
    parameter_names = ("alpha", "beta", "gamma", "delta")
    log_x = True

    @cached_property
    def prior(self) -> LogNormal:
        return LogNormal(torch.tensor([-0.125, -3.0, -0.125, -3.0]), torch.full((4,), 0.5))

    def log_populations(self, theta: Float[np.ndarray, "N m"]) -> Float[np.ndarray, "N d"]:
        """Clipped logarithms of the populations without noise, in the order of an observation."""
        from tallsbi.study.tasks.ode.kernel import trajectories

        states = trajectories(np.asarray(theta, dtype=np.float64), START, TIMES)
        return np.clip(states.transpose(0, 2, 1).reshape(len(theta), self.dim_x), *CLIP)

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        noise = rng.standard_normal((len(theta), self.dim_x))
        return np.exp(self.log_populations(theta) + NOISE * noise)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        from tallsbi.study.tasks.ode.flow import flow

        jnp = float64_numpy()
        centre = jnp.clip(flow(theta, START, TIMES).T.reshape(-1), *CLIP)
        log_x = jnp.log(x)
        normaliser = math.log(NOISE * math.sqrt(2 * math.pi))
        return -jnp.sum(0.5 * ((log_x - centre) / NOISE) ** 2 + log_x + normaliser)


TASK = LotkaVolterra()

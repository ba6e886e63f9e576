"""SIR: an epidemic among a million people, one infected at the start, with contact and recovery rates.

With the shares s of susceptible and i of infected people, s' = -beta s i and i' = (beta s - gamma) i. The
rates are log-normal and modelled in logarithms. An observation counts the infected among 1000 people at
t = 0, 17, ..., 153: Binomial(1000, i). The first count has success probability 1e-6 whatever the
parameters, so it is nearly always 0.
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

PEOPLE = 1_000_000
TRIALS = 1_000
TIMES = 17.0 * np.arange(10)
START = np.array([math.log1p(-1 / PEOPLE), -math.log(PEOPLE)])
_MAX_LOG_SHARE = math.log1p(-1e-12)  # a share that rounds to one would make the log-likelihood infinite


class SIR(Task):
    name = "sir"
    label = "SIR"
    dim_x = len(TIMES)
    parameter_names = ("beta", "gamma")

    @cached_property
    def prior(self) -> LogNormal:
        loc = torch.tensor([math.log(0.4), math.log(0.125)])
        return LogNormal(loc, torch.tensor([0.5, 0.2]))

    def infected(self, theta: Float[np.ndarray, "N m"]) -> Float[np.ndarray, "N d"]:
        """Shares of infected people at the times of observation."""
        from tallsbi.study.tasks.ode.kernel import trajectories

        contact, recovery = np.asarray(theta, dtype=np.float64).T
        rates = np.stack([np.zeros_like(contact), contact, recovery, contact], -1)
        return np.exp(np.minimum(trajectories(rates, START, TIMES)[..., 1], 0.0))

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        return rng.binomial(TRIALS, self.infected(theta)).astype(np.float64)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        from tallsbi.study.tasks.ode.flow import flow

        jnp = float64_numpy()
        contact, recovery = theta
        rates = jnp.stack([jnp.zeros_like(contact), contact, recovery, contact])
        log_share = jnp.minimum(flow(rates, START, TIMES)[:, 1], _MAX_LOG_SHARE)
        log_rest = jnp.log(-jnp.expm1(log_share))
        multiplicity = jnp.asarray(self._log_multiplicity)[x.astype(int)]
        return jnp.sum(multiplicity + x * log_share + (TRIALS - x) * log_rest)

    @cached_property
    def _log_multiplicity(self) -> Float[np.ndarray, "counts"]:
        """log binomial coefficients of all counts: a table is cheaper than three gamma functions."""
        from scipy.special import gammaln

        counts = np.arange(TRIALS + 1)
        return gammaln(TRIALS + 1) - gammaln(counts + 1) - gammaln(TRIALS - counts + 1)


TASK = SIR()

"""Bernoulli GLM: a neuron that spikes in 100 bins with probability logistic(X theta), in ten dimensions.

X [100, 10] holds ones and a fixed white stimulus lagged by 0, ..., 8 bins. The prior is N(0, Q^-1); Q gives
the offset the precision 0.5 and makes the nine filter weights smooth. The task's observation is x = X'y,
the number of spikes and the spike-triggered sums, which is sufficient: log p(y | theta) depends on the
spikes y through theta'x alone. `bernoulli_glm_raw` observes the bins themselves.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.gaussian import Gaussian
from tallsbi.study.tasks.base import Task, float64_numpy

DIM = 10
BINS = 100
_STIMULUS_SEED = 42  # sbibm's: the stimulus is part of the task


def design_matrix() -> Float[np.ndarray, "bins m"]:
    """A column of ones, and the stimulus lagged by 0, ..., 8 bins."""
    stimulus = np.random.RandomState(_STIMULUS_SEED).randn(BINS).astype(np.float32).astype(np.float64)
    lags = [np.concatenate([np.zeros(lag), stimulus[: BINS - lag]]) for lag in range(DIM - 1)]
    return np.stack([np.ones(BINS), *lags], -1)


def prior_precision() -> Float[Tensor, "m m"]:
    """Q, in float32 by the same operations as sbibm's, so that the prior's draws are the same bits."""
    weights = DIM - 1
    difference = torch.eye(weights) - torch.diag(torch.ones(weights - 1), -1)
    smooth = difference @ difference + torch.diag(torch.arange(weights) / weights) ** 0.5
    precision = torch.zeros(DIM, DIM)
    precision[0, 0] = 0.5
    precision[1:, 1:] = smooth.T @ smooth
    return precision


class BernoulliGLM(Task):
    name = "bernoulli_glm"
    label = "Bernoulli GLM"
    dim_x = DIM
    parameter_names = tuple(f"theta_{i}" for i in range(1, DIM + 1))

    @cached_property
    def prior(self) -> Gaussian:
        cov = torch.linalg.inv(prior_precision().double())
        return Gaussian(torch.zeros(DIM), cov.float())

    @cached_property
    def design(self) -> Float[np.ndarray, "bins m"]:
        return design_matrix()

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        return self.spikes(theta, rng) @ self.design

    def spikes(
        self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator
    ) -> Float[np.ndarray, "N bins"]:
        """Ones and zeros, one row of bins for each row of theta."""
        from scipy.special import expit

        rate = expit(np.asarray(theta, dtype=np.float64) @ self.design.T)
        return (rng.random(rate.shape) < rate).astype(np.float64)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        """Log probability of one spike train with these statistics; in general there is no other."""
        jnp = float64_numpy()
        return jnp.sum(x, 0) @ theta - x.shape[0] * jnp.sum(jnp.logaddexp(0.0, self.design @ theta))

    def _draw(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        factor = torch.distributions.MultivariateNormal(
            torch.zeros(DIM), precision_matrix=prior_precision()
        ).scale_tril
        z = torch.randn(count, DIM, generator=generator)
        return (factor @ z[..., None])[..., 0]


TASK = BernoulliGLM()

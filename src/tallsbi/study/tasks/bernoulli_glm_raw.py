"""Bernoulli GLM, raw: the 100 bins themselves are observed instead of their sufficient statistics.

The posterior given the bins y is that of `bernoulli_glm` given X'y.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.study.tasks.base import float64_numpy
from tallsbi.study.tasks.bernoulli_glm import BINS, BernoulliGLM


class BernoulliGLMRaw(BernoulliGLM):
    name = "bernoulli_glm_raw"
    label = "Bernoulli GLM raw"
    dim_x = BINS

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        return self.spikes(theta, rng)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        jnp = float64_numpy()
        drive = self.design @ theta
        return jnp.sum(x, 0) @ drive - x.shape[0] * jnp.sum(jnp.logaddexp(0.0, drive))


TASK = BernoulliGLMRaw()

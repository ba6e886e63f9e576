"""Gaussian linear: x | theta ~ N(theta, diag(0.6, ..., 1.4)), theta ~ N(0, I), in ten dimensions.

Not sbibm's task of that name, whose noise is isotropic. The posterior is Gaussian for any number of
observations. The paper drew the 50,000 training observations between the training parameters and theta*,
from the same torch stream.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors.gaussian import Gaussian, tall_posterior
from tallsbi.study.tasks.base import TRAINING_DRAWS, Task, float64_numpy

DIM = 10
NOISE_VARIANCE = np.linspace(0.6, 1.4, DIM)


class GaussianLinear(Task):
    name = "gaussian_linear"
    label = "Gaussian linear"
    dim_x = DIM
    parameter_names = tuple(f"theta_{i}" for i in range(1, DIM + 1))
    noise_variance = NOISE_VARIANCE
    normals_before_theta_star = TRAINING_DRAWS * DIM

    @cached_property
    def prior(self) -> Gaussian:
        return Gaussian.standard(self.dim_theta)

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        return theta + np.sqrt(self.noise_variance) * rng.standard_normal(theta.shape)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        jnp = float64_numpy()
        return -0.5 * jnp.sum(
            (x - theta) ** 2 / self.noise_variance + jnp.log(2 * jnp.pi * self.noise_variance)
        )

    def closed_form(
        self, x: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "m"], Float[np.ndarray, "m m"]]:
        noise = torch.diag(torch.from_numpy(self.noise_variance))
        data = torch.from_numpy(np.asarray(x, dtype=np.float64))[None]
        mean, cov = tall_posterior(self.prior.to(dtype=torch.float64), noise, data)
        return mean[0].numpy(), cov[0].numpy()


TASK = GaussianLinear()

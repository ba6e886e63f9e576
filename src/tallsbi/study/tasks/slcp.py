"""SLCP, "simple likelihood, complex posterior": five parameters of a bivariate Gaussian seen four times.

theta ~ U(-3, 3)^5. With s1 = theta_3^2, s2 = theta_4^2 and rho = tanh(theta_5), one observation is four
independent draws of N((theta_1, theta_2), S), S = [[s1^2 + eps, rho s1 s2], [rho s1 s2, s2^2 + eps]]. The
signs of theta_3 and theta_4 do not matter: every posterior has four symmetric modes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors.uniform import Uniform
from tallsbi.study.tasks.base import Task, float64_numpy

BOUND = 3.0
DRAWS = 4
EPS = 1e-6


class SLCP(Task):
    name = "slcp"
    label = "SLCP"
    dim_x = 2 * DRAWS
    parameter_names = tuple(f"theta_{i}" for i in range(1, 6))

    @cached_property
    def prior(self) -> Uniform:
        return Uniform(torch.full((5,), -BOUND), torch.full((5,), BOUND))

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        theta = np.asarray(theta, dtype=np.float64)
        scale, slope, rest = _factor(theta, np)
        z = rng.standard_normal((len(theta), DRAWS, 2))
        first = scale[:, None] * z[..., 0]
        second = slope[:, None] * first + rest[:, None] * z[..., 1]
        return (theta[:, None, :2] + np.stack([first, second], -1)).reshape(len(theta), self.dim_x)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        jnp = float64_numpy()
        scale, slope, rest = _factor(theta, jnp)
        first, second = (x.reshape(-1, 2) - theta[:2]).T
        square = (first / scale) ** 2 + ((second - slope * first) / rest) ** 2
        return -jnp.sum(0.5 * square + jnp.log(2 * jnp.pi * scale * rest))


def _factor(theta: Any, np_like: Any) -> tuple[Any, Any, Any]:
    """Std of the first coordinate; slope of the second on it; std of what remains of the second.

    The determinant of S is written without a difference, because rho^2 rounds to one in the tails.
    """
    s1, s2 = theta[..., 2] ** 2, theta[..., 3] ** 2
    variance = s1**2 + EPS
    det = (s1 * s2 / np_like.cosh(theta[..., 4])) ** 2 + EPS * (s1**2 + s2**2) + EPS**2
    scale = np_like.sqrt(variance)
    return scale, np_like.tanh(theta[..., 4]) * s1 * s2 / variance, np_like.sqrt(det) / scale


TASK = SLCP()

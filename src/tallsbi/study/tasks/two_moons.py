"""Two Moons: theta ~ U(-1, 1)^2, x on a crescent whose place depends on theta.

With r ~ N(0.1, 0.01^2) and a ~ U(-pi/2, pi/2), x = (r cos a + 0.25, r sin a) + shift(theta),
shift = (-|theta_1 + theta_2|, theta_2 - theta_1) / sqrt(2). The likelihood has a closed form: the offset
p = x - shift - (0.25, 0) has polar coordinates (r, a), so its density is N(r; 0.1, 0.01^2) / (pi |r|), where
a half-plane to the left of the origin belongs to negative r (ten standard deviations away). sbibm's own
function leaves out the Jacobian 1 / (pi r).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors.uniform import Uniform
from tallsbi.study.tasks.base import Task, float64_numpy

OFFSET = 0.25
RADIUS, WIDTH = 0.1, 0.01


class TwoMoons(Task):
    name = "two_moons"
    label = "Two Moons"
    dim_x = 2
    parameter_names = ("theta_1", "theta_2")

    @cached_property
    def prior(self) -> Uniform:
        return Uniform(-torch.ones(2), torch.ones(2))

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        from scipy.special import ndtr

        theta = np.asarray(theta, dtype=np.float64)
        # The angle through the normal distribution function: a row of normals per row of theta, so that
        # the first rows do not depend on how many follow.
        z = rng.standard_normal((len(theta), 2))
        radius, angle = RADIUS + WIDTH * z[:, 0], np.pi * (ndtr(z[:, 1]) - 0.5)
        crescent = np.stack([radius * np.cos(angle) + OFFSET, radius * np.sin(angle)], -1)
        return crescent + _shift(theta, np)

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        jnp = float64_numpy()
        u, v = (x - _shift(theta, jnp)).T
        u = u - OFFSET
        distance = jnp.sqrt(u**2 + v**2)
        radius = jnp.where(u >= 0, distance, -distance)
        log_normal = -0.5 * ((radius - RADIUS) / WIDTH) ** 2 - jnp.log(WIDTH * jnp.sqrt(2 * jnp.pi))
        return jnp.sum(log_normal - jnp.log(jnp.pi * distance))


def _shift(theta: Any, np_like: Any) -> Any:
    total, difference = theta[..., 0] + theta[..., 1], theta[..., 1] - theta[..., 0]
    return np_like.stack([-np_like.abs(total), difference], -1) / np.sqrt(2)


TASK = TwoMoons()

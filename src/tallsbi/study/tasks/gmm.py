"""GMM: x | theta ~ 1/2 N(theta, 2.25^2 I) + 1/2 N(theta, (1/9)^2 I), theta ~ N(0, I), in ten dimensions.

2.25 and 1/9 are standard deviations here, as in the code behind the paper's numbers; its text and the toy mixture of
section 4.1 read them as variances, which `with_stds` gives. Not sbibm's task of that name, which is two-dimensional.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.priors.base import Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.study.tasks.base import Task, float64_numpy

DIM = 10
STDS = (2.25, 1 / 9)


class Mixture(Task):
    """The mixture simulator under any prior in ten dimensions."""

    dim_x = DIM
    component_stds: tuple[float, float] = STDS
    parameter_names = tuple(f"theta_{i}" for i in range(1, DIM + 1))

    def with_stds(self, stds: tuple[float, float]) -> Mixture:
        """The same with other standard deviations of the two components."""
        other = copy.copy(self)
        other.component_stds = stds
        return other

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        # The sign of one more normal chooses the component: a row of normals per row of theta, so that
        # the first rows do not depend on how many follow.
        z = rng.standard_normal((len(theta), DIM + 1))
        std = np.where(z[:, :1] < 0, *self.component_stds)
        return theta + std * z[:, 1:]

    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        jnp = float64_numpy()
        square = jnp.sum((x - theta) ** 2, -1)
        wide, narrow = (
            -0.5 * (square / std**2 + DIM * jnp.log(2 * jnp.pi * std**2)) for std in self.component_stds
        )
        return jnp.sum(jnp.logaddexp(wide, narrow) - jnp.log(2.0))


class GMM(Mixture):
    name = "gmm"
    label = "GMM"

    @cached_property
    def prior(self) -> Prior:
        return Gaussian.standard(DIM)


TASK = GMM()

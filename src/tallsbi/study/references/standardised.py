"""Coordinates z in which every prior is standard normal: what annealing, NUTS and the grid compute in.

theta = T(z) with z ~ N(0, I) a priori: an affine map for a Gaussian prior, its exponential for a log-normal
one, the normal distribution function for a uniform one. The Jacobian of T is part of the prior's density in z,
so the posterior is N(z; 0, I) p(x | T(z)) whatever the prior, without bounds, and starts drawn from N(0, I)
are dispersed over the whole prior.

A task may have better coordinates (`slcp`): any map T(z, x), with the ratio of the posterior's density in z to that of
N(0, I).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.study.tasks.base import Task, float64_numpy

LogDensity = Callable[[Any, Any], Any]
"""(vector [m], data) -> scalar, in JAX; the data are (x [N, d], weight [N]) of `first_observations`."""


@dataclass(frozen=True)
class Coordinates:
    """A posterior in z, as functions in JAX."""

    log_ratio: LogDensity
    """log of the posterior's density over that of N(0, I), up to a constant: the likelihood, usually."""
    to_parameter: Callable[[Any, Any], Any]
    """(z [m], data) -> theta [m]."""

    def log_density(self, z: Any, data: Any) -> Any:
        return self.log_ratio(z, data) - 0.5 * float64_numpy().sum(z**2)


def first_observations(
    x: Float[np.ndarray, "B N d"], n: int
) -> tuple[Float[np.ndarray, "B N d"], Float[np.ndarray, "B N"]]:
    """The first n observations as data of a fixed shape: all N with weight 1 or 0.

    A function compiled for N observations then serves every n up to N.
    """
    used = np.arange(x.shape[1]) < n
    # The rows of weight 0 must be possible observations: zero times infinity is not a number.
    filled = np.where(used[:, None], x, x[:, :1]).astype(np.float64)
    return filled, np.broadcast_to(used, x.shape[:2]).astype(np.float64)


def weighted_likelihood(task: Task) -> LogDensity:
    """(theta [m], data) -> log p(x_1, ..., x_n | theta).

    Minus infinity where the likelihood is not a number, so that samplers reject the point.
    """
    import jax

    jnp = float64_numpy()

    def value(theta: Any, data: Any) -> Any:
        x, weight = data
        # theta is the same for all rows, so what depends on it alone (an ODE's solution) is computed once.
        rows = jax.vmap(lambda row: task.log_likelihood(theta, row[None]))(x)
        log_p = jnp.sum(weight * rows)
        return jnp.where(jnp.isnan(log_p), -jnp.inf, log_p)

    return value


def coordinates(task: Task) -> Coordinates:
    """The coordinates of the prior alone."""
    likelihood, to_parameter = weighted_likelihood(task), prior_map(task)
    return Coordinates(lambda z, data: likelihood(to_parameter(z), data), lambda z, data: to_parameter(z))


def prior_map(task: Task) -> Callable[[Any], Any]:
    """T: z [m] -> theta [m], in JAX, that takes N(0, I) to the prior."""
    jnp = float64_numpy()
    from jax.scipy.special import ndtr

    functions = {"identity": lambda v: v, "exp": jnp.exp, "ndtr": ndtr}
    described = task.prior.standard_map()
    offset, scale = described.offset, described.scale
    inner, outer = functions[described.inner], functions[described.outer]
    if scale.ndim == 2:
        return lambda z: outer(offset + scale @ inner(z))
    return lambda z: outer(offset + scale * inner(z))

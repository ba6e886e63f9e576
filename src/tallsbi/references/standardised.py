"""Coordinates in which every prior is standard normal: what annealing, NUTS and the grid compute in.

theta = T(z) with z ~ N(0, I) a priori: an affine map for a Gaussian prior, its exponential for a log-normal
one, the normal distribution function for a uniform one. The Jacobian of T is part of the prior's density in z,
so the posterior is N(z; 0, I) p(x | T(z)) whatever the prior, without bounds, and starts drawn from N(0, I)
are dispersed over the whole prior.

A posterior that is symmetric in the sign of some coordinates is sampled where these are positive: T maps onto
the upper half of their range (`positive`), and whoever draws flips the signs with equal probability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors import Gaussian, LogNormal, Uniform
from tallsbi.tasks.base import Task, float64_numpy

LogDensity = Callable[[Any, Any], Any]
"""(z [m], data) -> scalar, in JAX; the data are (x [N, d], weight [N]) as `first_observations` gives them."""


def first_observations(
    x: Float[np.ndarray, "B N d"], n: int
) -> tuple[Float[np.ndarray, "B N d"], Float[np.ndarray, "B N"]]:
    """The first n observations as data of a fixed shape: all N with weight 1 or 0.

    What is compiled for N observations so serves every n up to N.
    """
    if not 1 <= n <= x.shape[1]:
        raise ValueError(f"n = {n} observations asked for, x holds {x.shape[1]}: simulate more, or lower n.")
    x = np.where(np.arange(x.shape[1])[:, None] < n, x, x[:, :1]).astype(np.float64)
    return x, np.broadcast_to(np.arange(x.shape[1]) < n, x.shape[:2]).astype(np.float64)


def parameter_map(task: Task, positive: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    """T: z [m] -> theta [m], in JAX."""
    jnp = float64_numpy()
    prior = task.prior.to(dtype=torch.float64)
    if positive and not isinstance(prior, Uniform):
        raise ValueError(
            f"{task.name}: symmetric coordinates {positive} need a uniform prior, found "
            f"{type(prior).__name__}; extend tallsbi.references.standardised."
        )
    if isinstance(prior, Uniform):
        from jax.scipy.special import ndtr

        low, high = prior.low.numpy().copy(), prior.high.numpy()
        for index in positive:
            if low[index] != -high[index]:
                raise ValueError(
                    f"{task.name}: coordinate {index} has the range [{low[index]}, {high[index]}], which is "
                    "not symmetric: its sign is no symmetry of the posterior."
                )
            low[index] = 0.0
        width = high - low
        return lambda z: low + width * ndtr(z)
    if isinstance(prior, LogNormal):
        loc, scale = prior.loc.numpy(), prior.scale.numpy()
        return lambda z: jnp.exp(loc + scale * z)
    if isinstance(prior, Gaussian):
        mean, factor = prior.mean[0].numpy(), torch.linalg.cholesky(prior.cov[0]).numpy()
        return lambda z: mean + factor @ z
    raise ValueError(
        f"{task.name}: no standard normal coordinates for a {type(prior).__name__} prior; add them to "
        "tallsbi.references.standardised."
    )


def weighted_likelihood(task: Task) -> LogDensity:
    """(theta [m], data) -> log p(x_1, ..., x_n | theta).

    Minus infinity where the likelihood gives no number, so that samplers turn away.
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


def log_likelihood(task: Task, positive: tuple[int, ...] = ()) -> LogDensity:
    """log p(x | T(z))."""
    likelihood, to_parameter = weighted_likelihood(task), parameter_map(task, positive)
    return lambda z, data: likelihood(to_parameter(z), data)


def log_posterior(task: Task, positive: tuple[int, ...] = ()) -> LogDensity:
    """log p(z | x) up to a constant."""
    jnp = float64_numpy()
    likelihood = log_likelihood(task, positive)
    return lambda z, data: likelihood(z, data) - 0.5 * jnp.sum(z**2)

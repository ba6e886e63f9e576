"""Coordinates for SLCP, where the plain ones make a bent ridge of the posterior.

An observation of SLCP is four draws of N(mu, S), mu = (theta_1, theta_2), S a function of the other three. With
K = 4 n draws of mean c, the posterior of mu given S is N(c, S / K) cut off at the prior's box: a ridge when the
two coordinates are correlated, and a funnel because its width goes with S. Here z_1 and z_2 are standard
normals from which mu is made by inverting the distribution functions of theta_1 given S and of theta_2 given
theta_1 and S, both truncated normals. NUTS is left with three parameters that are nearly independent of z_1, z_2.

The likelihood does not depend on the signs of theta_3 and theta_4. Both are positive here; the caller flips them with
equal probability, so that the four modes have equal weight.
"""

from __future__ import annotations

from typing import Any

from tallsbi.study.references.standardised import Coordinates, weighted_likelihood
from tallsbi.study.tasks.base import Task, float64_numpy

SIGN_SYMMETRIC_COORDINATES = (2, 3)
_MIN_MASS = 1e-300


def coordinates(task: Task) -> Coordinates:
    """z_1, z_2 for the location as above; z_3, z_4, z_5 are standard normal a priori."""
    from jax.scipy.special import ndtr

    jnp = float64_numpy()
    likelihood = weighted_likelihood(task)
    bound = float(task.prior.high[0])
    if not (task.prior.high == bound).all() or not (task.prior.low == -bound).all():
        raise ValueError(
            f"{task.name}: the prior's box is {task.prior.low.tolist()}, {task.prior.high.tolist()}; these "
            "coordinates need a centred cube."
        )

    def expand(z: Any, data: Any) -> tuple[Any, Any]:
        """theta, and the log of (flat density of mu) / (density of z_1, z_2) in z."""
        x, weight = data
        theta_3, theta_4 = bound * ndtr(z[2]), bound * ndtr(z[3])
        theta_5 = bound * (2 * ndtr(z[4]) - 1)
        draws = x.reshape(x.shape[0], -1, 2)
        count = jnp.sum(weight) * draws.shape[1]
        centre = jnp.sum(weight[:, None, None] * draws, (0, 1)) / count
        s1, s2 = theta_3**2, theta_4**2
        slope = jnp.tanh(theta_5) * s2 / s1
        theta_1, log_1 = _truncated(z[0], centre[0], s1 / jnp.sqrt(count), bound)
        middle = centre[1] + slope * (theta_1 - centre[0])
        theta_2, log_2 = _truncated(z[1], middle, s2 / jnp.cosh(theta_5) / jnp.sqrt(count), bound)
        return jnp.stack([theta_1, theta_2, theta_3, theta_4, theta_5]), log_1 + log_2

    def log_ratio(z: Any, data: Any) -> Any:
        theta, log_jacobian = expand(z, data)
        value = likelihood(theta, data) + log_jacobian
        return jnp.where(jnp.isnan(value), -jnp.inf, value)

    return Coordinates(log_ratio, lambda z, data: expand(z, data)[0])


def _truncated(z: Any, mean: Any, std: Any, bound: float) -> tuple[Any, Any]:
    """A point of N(mean, std^2) on [-bound, bound] at the quantile Phi(z), and log(d point / d Phi(z)).

    Minus infinity where the box lies so far in a tail (37 std) that its probability underflows.
    """
    from jax.scipy.special import ndtr, ndtri

    jnp = float64_numpy()
    low, high = (-bound - mean) / std, (bound - mean) / std
    # In the lower tail probabilities are small numbers, in the upper one they differ from one by rounding.
    sign = jnp.where(low + high > 0, -1.0, 1.0)
    low, high, z = jnp.where(sign < 0, -high, low), jnp.where(sign < 0, -low, high), sign * z
    below, mass = ndtr(low), ndtr(high) - ndtr(low)
    possible = mass > _MIN_MASS
    mass = jnp.where(possible, mass, 1.0)
    quantile = jnp.where(possible, below + ndtr(z) * mass, 0.5)
    t = ndtri(jnp.clip(quantile, _MIN_MASS, 1 - 1e-16))
    log_slope = jnp.where(possible, jnp.log(std) + jnp.log(mass) + 0.5 * t**2, -jnp.inf)
    # Rounding must not carry a draw out of the prior.
    return jnp.clip(mean + std * sign * t, -bound, bound), log_slope

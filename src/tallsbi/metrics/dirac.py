"""How far a sample is from a point mass at the true parameter theta* (section 4.3 of the paper).

As published, per coordinate and in raw units,

    (Var + (mean - theta*)^2) / sd,

then averaged over the coordinates: a second moment about theta*, scaled by the standard deviation. The paper
calls it an MMD, which it is not; the kernel MMD is here as well, coordinate by coordinate,

    MMD^2 = mean k(theta_i, theta_j) - 2 mean k(theta_i, theta*) + 1,   k(a, b) = exp(-(a - b)^2 / (2 s^2)),

of which the root is returned. s is the standard deviation of the prior: it is the same for every n and method, so
that a narrower posterior around theta* is closer.
"""

import numpy as np
from jaxtyping import Float

_DRAWS_AT_ONCE = 1000  # draws compared with all others at once


def scaled_second_moment(
    theta: Float[np.ndarray, "S m"], truth: Float[np.ndarray, "m"]
) -> Float[np.ndarray, "m"]:
    """The published distance of each coordinate; NaN if any draw is not finite."""
    if not np.isfinite(theta).all():
        return np.full(len(truth), np.nan)
    variance = theta.var(0, ddof=1)
    return (variance + (theta.mean(0) - truth) ** 2) / np.sqrt(variance)


def mmd_to_point(
    theta: Float[np.ndarray, "S m"], truth: Float[np.ndarray, "m"], scale: Float[np.ndarray, "m"]
) -> Float[np.ndarray, "m"]:
    """The kernel MMD of each coordinate to the point mass; NaN if any draw is not finite."""
    if not np.isfinite(theta).all():
        return np.full(len(truth), np.nan)
    z, point = theta / scale, truth / scale
    within = np.zeros(len(truth))
    for start in range(0, len(z), _DRAWS_AT_ONCE):
        within += np.exp(-0.5 * (z[start : start + _DRAWS_AT_ONCE, None] - z[None]) ** 2).sum((0, 1))
    across = np.exp(-0.5 * (z - point) ** 2).mean(0)
    return np.sqrt(np.maximum(within / len(z) ** 2 - 2 * across + 1, 0))

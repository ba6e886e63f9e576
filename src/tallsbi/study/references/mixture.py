"""Exact posteriors of the mixture tasks: x | theta ~ 1/2 N(theta, s_0^2 I) + 1/2 N(theta, s_1^2 I).

Given which component each observation came from (an assignment), the posterior is Gaussian; the whole is a mixture
over the 2^n assignments. Up to `MAX_ENUMERATED` observations all of them are used. Beyond, `search` looks for those
that carry the mass: in ten dimensions an observation is either much nearer to theta than the wide component puts it,
or much farther than the narrow one can reach, so few assignments matter. The search starts with theta at every
observation and at their mean, alternates between assignment and posterior mean until nothing changes, and adds all
changes of one and two observations. The draws show how much it missed: there the density of all assignments exceeds
that of those used.

Under a uniform prior the Gaussians are those of a flat one, cut off at its box.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

from tallsbi.study.tasks.base import Task

MAX_ENUMERATED = 10
_NEGLIGIBLE_NATS = 30.0
_MAX_PASSES = 50


def component_stds(task: Task) -> tuple[float, float] | None:
    """The (wide, narrow) standard deviations of a task that is such a mixture, None for others."""
    return getattr(task, "component_stds", None)


def sample(
    task: Task, x: Float[np.ndarray, "n m"], count: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "count m"], float]:
    """Independent draws, and an estimate of the share of the posterior that the assignments used leave out."""
    stds = np.array(component_stds(task))
    prior_precision, box = _prior(task)
    if len(x) <= MAX_ENUMERATED:
        narrow = ((np.arange(2 ** len(x))[:, None] >> np.arange(len(x))) & 1).astype(bool)
    else:
        narrow = search(x, stds, prior_precision)
    mean, precision, log_weight = components(x, narrow, stds, prior_precision)
    # Coordinates of one Gaussian are independent, so the box cuts each to an interval of known probability.
    low, high = ((edge - mean) * np.sqrt(precision)[:, None] for edge in (-box, box))
    log_inside = log_weight + _log_interval(low, high).sum(-1)
    weight = np.exp(log_inside - log_inside.max())
    chosen = rng.choice(len(weight), count, p=weight / weight.sum())
    z = _truncated_normal(low[chosen], high[chosen], rng)
    theta = mean[chosen] + z / np.sqrt(precision[chosen])[:, None]
    return theta, _missed(theta, x, stds, prior_precision, (mean, precision, log_weight))


def _log_interval(low: Float[np.ndarray, "*N"], high: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
    """log(Phi(high) - Phi(low)), taken in the lower tail, where both are small numbers and not near one."""
    from scipy.special import log_ndtr

    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
    upper = log_ndtr(high)
    return upper + np.log1p(-np.exp(log_ndtr(low) - upper))


def _truncated_normal(
    low: Float[np.ndarray, "*N"], high: Float[np.ndarray, "*N"], rng: np.random.Generator
) -> Float[np.ndarray, "*N"]:
    """Standard normals between the bounds, by inversion in the lower tail."""
    from scipy.special import log_ndtr, ndtri_exp

    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    upper = log_ndtr(high)
    u = rng.random(low.shape)
    z = ndtri_exp(upper + np.log(u + (1 - u) * np.exp(log_ndtr(low) - upper)))
    z = np.clip(z, low, high)
    return np.where(flip, -z, z)


def _prior(task: Task) -> tuple[float, float]:
    """Precision of the prior (zero if flat) and half the width of its box (infinite if Gaussian)."""
    prior = task.prior
    box, covariance = prior.support(), prior.covariance()[0].numpy()
    if box is not None:
        low, high = box
        if bool((high != -low).any()) or bool((high != high[0]).any()):
            raise ValueError(f"{task.name}: the box {low.tolist()}, {high.tolist()} is no centred cube.")
        return 0.0, float(high[0])
    if not prior.transformed and bool((prior.latent_mean() == 0).all()):
        precision = 1 / float(covariance[0, 0])
        if np.allclose(covariance, np.eye(len(covariance)) / precision):
            return precision, np.inf
    raise ValueError(f"{task.name}: the mixture's posterior needs a centred isotropic or uniform prior.")


def components(
    x: Float[np.ndarray, "n m"],
    narrow: Bool[np.ndarray, "A n"],
    stds: Float[np.ndarray, "2"],
    prior_precision: float,
) -> tuple[Float[np.ndarray, "A m"], Float[np.ndarray, "A"], Float[np.ndarray, "A"]]:
    """Mean, precision and log weight of the Gaussian of each assignment.

    The weight is the integral over theta of prior times likelihood, without the factors that all share.
    """
    m = x.shape[1]
    noise_precision = np.where(narrow, stds[1], stds[0]) ** -2.0
    precision = prior_precision + noise_precision.sum(1)
    mean = noise_precision @ x / precision[:, None]
    # The sum of squares around the mean and not a difference of sums, which would cancel.
    square = ((x - mean[:, None]) ** 2).sum(-1)
    spread = (noise_precision * square).sum(1) + prior_precision * (mean**2).sum(-1)
    log_weight = 0.5 * (m * np.log(noise_precision).sum(1) - m * np.log(precision) - spread)
    return mean, precision, log_weight


def search(
    x: Float[np.ndarray, "n m"], stds: Float[np.ndarray, "2"], prior_precision: float
) -> Bool[np.ndarray, "A n"]:
    """The assignments that carry the posterior's mass."""
    n, m = x.shape
    # The squared distance at which an observation is equally probable under both components.
    wide_precision, narrow_precision = stds**-2.0
    threshold = m * np.log(stds[0] / stds[1]) * 2 / (narrow_precision - wide_precision)
    theta = np.concatenate([x, x.mean(0, keepdims=True)])
    narrow = np.zeros((n + 1, n), dtype=bool)
    for _ in range(_MAX_PASSES):
        before = narrow
        narrow = ((theta[:, None] - x) ** 2).sum(-1) < threshold
        theta = components(x, narrow, stds, prior_precision)[0]
        if np.array_equal(before, narrow):
            break
    narrow = np.unique(np.concatenate([narrow, np.zeros((1, n), dtype=bool), np.eye(n, dtype=bool)]), axis=0)
    for changed in (1, 2):
        flips = np.array([np.isin(np.arange(n), pair) for pair in combinations(range(n), changed)])
        narrow = np.unique(np.concatenate([narrow, (narrow[:, None] ^ flips).reshape(-1, n)]), axis=0)
        log_weight = components(x, narrow, stds, prior_precision)[2]
        narrow = narrow[log_weight > log_weight.max() - _NEGLIGIBLE_NATS]
    return narrow


def _missed(
    theta: Float[np.ndarray, "S m"],
    x: Float[np.ndarray, "n m"],
    stds: Float[np.ndarray, "2"],
    prior_precision: float,
    used: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> float:
    """The share of the posterior in assignments not used.

    The mean over draws of (density of all) / (density of those used) is the inverse of the share used, as far
    as the draws reach.
    """
    from scipy.special import logsumexp

    mean, precision, log_weight = used
    m = x.shape[1]
    square = ((theta[:, None] - mean) ** 2).sum(-1)
    log_used = logsumexp(log_weight + 0.5 * m * np.log(precision) - 0.5 * precision * square, axis=1)
    log_components = -0.5 * ((theta[:, None] - x) ** 2).sum(-1)[..., None] * stds**-2.0 - m * np.log(stds)
    log_all = logsumexp(log_components, axis=-1).sum(1) - 0.5 * prior_precision * (theta**2).sum(-1)
    return float(max(0.0, 1 - 1 / np.mean(np.exp(np.minimum(log_all - log_used, 700.0)))))

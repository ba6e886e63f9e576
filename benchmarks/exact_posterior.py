"""Mean and standard deviation of a posterior whose density is known, by adaptive importance sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats


@dataclass(frozen=True)
class Exact:
    """Mean and standard deviation per coordinate, and how many independent draws they are worth."""

    mean: np.ndarray
    deviation: np.ndarray
    effective: float


def importance(
    log_density: Callable[[np.ndarray], np.ndarray], start: np.ndarray, width: np.ndarray, draws: int = 4000
) -> Exact:
    """Climbs from `start`, then draws from a Student-t law that is fitted to the weighted draws, several times over.

    `width`: a length per coordinate to take differences with.
    """
    rng = np.random.default_rng(0)
    mean, covariance = _laplace(log_density, start, width)
    for count in (draws, draws, 2 * draws, 5 * draws):
        law = stats.multivariate_t(mean, covariance, df=5, seed=rng)
        theta = law.rvs(count).reshape(count, len(mean))
        log_weight = log_density(theta) - law.logpdf(theta)
        # Weights are tempered until enough draws share them, so that a poor start is left in steps.
        power = 1.0
        while True:
            weight = special.softmax(power * log_weight)
            effective = 1 / np.square(weight).sum()
            if effective > 10 * len(mean) + 50 or power < 1e-6:
                break
            power *= 0.7
        mean = weight @ theta
        covariance = (weight[:, None] * (theta - mean)).T @ (theta - mean)
    return Exact(mean, np.sqrt(covariance.diagonal()), effective)


def _laplace(
    log_density: Callable[[np.ndarray], np.ndarray], start: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's steps with differences that follow the width of the posterior."""
    point, m = start.copy(), len(start)
    step = 0.01 * width
    covariance = np.diag(np.square(step))
    for _ in range(12):
        # Differences of about half a standard deviation: neither rounding nor far away.
        for _ in range(4):
            plus, minus, here = (
                log_density(point + sign * np.diag(step)) if sign else log_density(point[None])
                for sign in (1, -1, 0)
            )
            curvature = np.maximum(-(plus + minus - 2 * here[0]), 1e-12) / np.square(step)
            step = np.clip(0.5 / np.sqrt(curvature), 0.1 * step, 10 * step)
        gradient = (plus - minus) / (2 * step)
        rows, columns = np.triu_indices(m, 1)
        both = np.eye(m)[rows] * step + np.eye(m)[columns] * step
        mixed = (
            log_density(point + both)
            + log_density(point - both)
            - plus[rows]
            - minus[rows]
            - plus[columns]
            - minus[columns]
        ) / 2 + here[0]
        hessian = np.diag((plus + minus - 2 * here[0]) / np.square(step))
        hessian[rows, columns] = hessian[columns, rows] = mixed / (step[rows] * step[columns])
        values, vectors = np.linalg.eigh(-hessian)
        values = np.maximum(values, 1 / np.square(3 * width).max())
        covariance = (vectors / values) @ vectors.T
        move = covariance @ gradient
        candidates = point + move * 0.5 ** np.arange(8)[:, None]
        levels = log_density(candidates)
        if levels.max() <= here[0] + 1e-3:
            break
        point = candidates[levels.argmax()]
    return point, covariance

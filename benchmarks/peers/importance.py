"""Draws of a posterior whose likelihood is learnt, by importance sampling that begins at the prior.

A Student-t law is fitted to weighted draws of prior times likelihood to the power p, and p grows to 1 as fast as enough
draws share the weight; where one law is too wide for p to grow, since there are several modes, it becomes a mixture of
up to four. Unlike a search from the true parameters, it finds a likelihood's wrong modes as a chain from the prior
would, and it takes few and large batches.
`python -m benchmarks.peers slice` compares it with slice sampling.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats
from sklearn.cluster import KMeans

_MOST_STAGES, _MOST_LAWS = 60, 4
_SLOW_GROWTH = 1.1  # of p in a stage; at less one law more is tried
_LEAST_WEIGHT = 0.005  # for a law of its own
_EFFECTIVE_SHARE = 0.2  # of the draws of a stage, that must share the weight before p grows further


def tempered_draws(
    log_likelihood: Callable[[np.ndarray], np.ndarray],
    mean: np.ndarray,
    covariance: np.ndarray,
    count: int,
    rng: np.random.Generator,
    stage: int = 1000,
) -> tuple[np.ndarray, float]:
    """`count` draws, some of them equal, and how many independent ones they are worth; prior N(mean, covariance)."""
    prior = stats.multivariate_normal(mean, covariance)
    law: Any = prior
    theta = prior.rvs(stage, random_state=rng).reshape(stage, -1)
    power, parts = 0.0, 1
    for _ in range(_MOST_STAGES):
        value, base = _finite(log_likelihood(theta)), prior.logpdf(theta) - law.logpdf(theta)
        least = max(_EFFECTIVE_SHARE * stage, 10 * len(mean) + 50)
        power, before = _largest_power(value, base, least, power), power
        weight = special.softmax(base + power * value)
        if power < _SLOW_GROWTH * before:
            parts = min(parts + 1, _MOST_LAWS)
        law = Mixture.fitted(theta, weight, parts, rng)
        if power == 1 and before == 1:
            break
        theta = law.rvs(stage)
    else:
        warnings.warn(f"importance sampling ended at power {power:.2g} of the likelihood", stacklevel=2)
    theta = law.rvs(4 * stage)
    weight = special.softmax(_finite(log_likelihood(theta)) + prior.logpdf(theta) - law.logpdf(theta))
    # Systematic resampling: the least noise on top of that of the weights.
    places = np.searchsorted(np.cumsum(weight), (rng.random() + np.arange(count)) / count)
    chosen = theta[np.minimum(places, len(theta) - 1)]
    return rng.permutation(chosen), float(1 / np.square(weight).sum())


def _finite(value: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(value), value, -1e30)


def _largest_power(value: np.ndarray, base: np.ndarray, least: float, floor: float) -> float:
    """From `floor` on, at most 1, by bisection; `floor` itself where even that is not shared by enough draws."""

    def shared(power: float) -> bool:
        weight = special.softmax(base + power * value)
        return bool(1 / np.square(weight).sum() >= least)

    if shared(1.0):
        return 1.0
    low, high = floor, 1.0
    for _ in range(40):
        middle = np.sqrt(low * high) if low > 0 else high * 0.1
        low, high = (middle, high) if shared(middle) else (low, middle)
        if low > 0 and high / low < 1.01:
            break
    return low


@dataclass(frozen=True)
class Mixture:
    """Student-t laws with five degrees of freedom, each with its share."""

    shares: np.ndarray
    laws: list[Any]
    rng: np.random.Generator

    @classmethod
    def fitted(cls, theta: np.ndarray, weight: np.ndarray, parts: int, rng: np.random.Generator) -> Mixture:
        """One law has the weighted moments; more are placed by k-means."""
        label = np.zeros(len(theta), int)
        if parts > 1:
            white = (theta - weight @ theta) / np.sqrt(weight @ np.square(theta - weight @ theta))
            seed = int(rng.integers(2**31))
            label = KMeans(parts, n_init=3, random_state=seed).fit_predict(white, sample_weight=weight)
        shares, laws = [], []
        for part in range(parts):
            part_weight = np.where(label == part, weight, 0.0)
            share = part_weight.sum()
            if share < _LEAST_WEIGHT:
                continue
            shares.append(share)
            part_weight = part_weight / share
            mean = part_weight @ theta
            covariance = (part_weight[:, None] * (theta - mean)).T @ (theta - mean)
            # A mode that few draws hold looks too narrow.
            floor = 1e-12 * np.diag(weight @ np.square(theta - weight @ theta))
            laws.append(stats.multivariate_t(mean, covariance + floor, df=5, seed=rng, allow_singular=True))
        return cls(np.array(shares) / np.sum(shares), laws, rng)

    def rvs(self, count: int) -> np.ndarray:
        counts = self.rng.multinomial(count, self.shares)
        drawn = [law.rvs(n).reshape(n, law.dim) for law, n in zip(self.laws, counts, strict=True) if n]
        return self.rng.permutation(np.concatenate(drawn))

    def logpdf(self, theta: np.ndarray) -> np.ndarray:
        terms = [np.log(p) + law.logpdf(theta) for p, law in zip(self.shares, self.laws, strict=True)]
        return special.logsumexp(terms, axis=0)

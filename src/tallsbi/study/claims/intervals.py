"""Confidence intervals at level 1 - alpha, two-sided, for few values of which some may be infinite.

An infinite value is a run that was lost: worse than any finite one, by an unknown amount. From 6 values on, as far as
their ranks can reach the level, the interval is that of Hodges and Lehmann for the centre of a symmetric distribution,
which allows infinite values. Fewer finite values have Student's interval of their mean, and so have more than 200,
whose mean is nearly normal. Fewer than `MIN_UNITS` values decide nothing, and neither do fewer than 6 without any
spread, since discrete values can agree by chance.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy import stats

MIN_UNITS = 5
_MIN_RANKED, _MAX_RANKED = 6, 200  # numbers of values with an interval by ranks
UNBOUNDED = (-np.inf, np.inf)

Interval = tuple[float, float]
Values = Float[np.ndarray, "k"]


def centre(values: Values, mean: bool = False) -> float:
    """The point estimate inside `centre_interval`; the median where there is no mean."""
    if _uses_ranks(values, mean):
        return float(np.median(_walsh_averages(values)))
    return float(np.mean(values) if np.isfinite(values).all() else np.median(values))


def centre_interval(values: Values, alpha: float, mean: bool = False, noise: float = 0.0) -> Interval:
    """The interval of the values' centre; `mean`: of their mean, for many skewed values.

    `noise`: a lower bound on the standard deviation of a single value, for the case that few of them agree.
    """
    if len(values) < MIN_UNITS:
        return UNBOUNDED
    if _uses_ranks(values, mean):
        interval = _hodges_lehmann(values, alpha)
        if interval != UNBOUNDED:
            return interval
    spread = max(np.std(values, ddof=1), noise) if np.isfinite(values).all() else np.nan
    if not np.isfinite(spread) or (spread == 0 and len(values) < _MIN_RANKED):
        return UNBOUNDED
    half = stats.t.ppf(1 - alpha / 2, len(values) - 1) * spread / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def share_interval(successes: int, count: int, alpha: float) -> Interval:
    """Clopper and Pearson's interval of a probability."""
    return _proportion(successes, count, alpha, "exact") if count else (0.0, 1.0)


def share_difference_interval(left: tuple[int, int], right: tuple[int, int], alpha: float) -> Interval:
    """Newcombe's interval of the difference of two probabilities, from (successes, count) of each."""
    if min(left[1], right[1]) < MIN_UNITS:
        return -1.0, 1.0
    p, q = left[0] / left[1], right[0] / right[1]
    (a, b), (c, d) = (_proportion(*side, alpha, "wilson") for side in (left, right))
    return p - q - float(np.hypot(p - a, d - q)), p - q + float(np.hypot(b - p, q - c))


def lost_more_often(left: tuple[int, int], right: tuple[int, int]) -> tuple[float, float]:
    """Fisher's one-sided p-values: that left is lost more often than right, and the reverse."""
    table = [[left[0], left[1] - left[0]], [right[0], right[1] - right[0]]]
    p_values = [stats.fisher_exact(table, alternative=side).pvalue for side in ("greater", "less")]
    return float(p_values[0]), float(p_values[1])


def _uses_ranks(values: Values, mean: bool) -> bool:
    """Whether the interval is that of Hodges and Lehmann."""
    if len(values) < _MIN_RANKED:
        return False
    finite = bool(np.isfinite(values).all())
    return not finite or (not mean and len(values) <= _MAX_RANKED)


def _walsh_averages(values: Values) -> Float[np.ndarray, "w"]:
    """Sorted averages of all pairs, each value with itself included."""
    i, j = np.triu_indices(len(values))
    with np.errstate(invalid="ignore"):
        averages = 0.5 * (values[i] + values[j])
    # Infinitely better on one and infinitely worse on the other counts as no difference.
    return np.sort(np.where(np.isnan(averages), 0.0, averages))


def _hodges_lehmann(values: Values, alpha: float) -> Interval:
    # The number of sums t with P(T <= t) <= alpha / 2.
    cut = int(np.searchsorted(_signed_rank_tail(len(values)), alpha / 2, side="right"))
    if cut == 0:
        return UNBOUNDED
    averages = _walsh_averages(values)
    return float(averages[cut - 1]), float(averages[-cut])


@lru_cache(maxsize=64)
def _signed_rank_tail(count: int) -> Float[np.ndarray, "s"]:
    """P(T <= t) of Wilcoxon's signed-rank sum T under symmetry, t = 0, 1, ..."""
    probability = np.ones(1)
    for rank in range(1, count + 1):
        extended = np.zeros(len(probability) + rank)
        extended[: len(probability)] += 0.5 * probability
        extended[rank:] += 0.5 * probability
        probability = extended
    return np.cumsum(probability)


def _proportion(successes: int, count: int, alpha: float, method: str) -> Interval:
    interval = stats.binomtest(successes, count).proportion_ci(1 - alpha, method)
    return float(interval.low), float(interval.high)

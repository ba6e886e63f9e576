"""How far draws are from calibrated: offsets of true parameters and coverage, with direction, size and intervals.

theta* comes from the prior, a dataset from theta*, and S draws from the posterior of the dataset. In each coordinate

    z = (theta* - mean of the draws) / (k standard deviation of the draws),  k^2 = (1 + 1 / S) (S - 1) / (S - 3).

Over datasets, the exact posterior has mean 0 and mean square 1 of z, whatever its shape: given the data, the variance
of theta* is that of the posterior. k removes what S draws add by chance to the mean (1 / S) and to the inverse
variance.
Coverage is that of central intervals between draws. It comes from the rank of theta* among them, spread evenly over its
cell, so that the exact posterior covers what it promises for every S.

z needs a scale on which a standard deviation means something: the latent space of the prior (`Prior.to_latent`).
A z beyond 4 counts as 4, and a dataset without draws as 4 and not covered: a few hopeless datasets are seen, but do not
decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

# Sigma may be so many times too small or, which does less harm, too large; coverage, which tells less from as many
# datasets, may be that of a sigma off by the larger factor.
NARROW_BAR, WIDE_BAR = 1.25, 1.5
SHIFT_BAR = 0.5  # draws may be shifted by so many of their standard deviations on average
LEVELS = (0.5, 0.9)
MIN_SAMPLES = 9
_LARGEST_Z = 4.0
_CONFIDENCE = 0.95
# How often a calibrated posterior may be found wrong at one n, all coordinates together.
_FAMILY_ERROR = 0.002
_POWER = 0.8
_SIZES_NEAR_BAR = 0.6, 1.6  # the bar itself is 1
_RESAMPLES = 1000
_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value per coordinate with its 95 % interval."""

    value: Float[np.ndarray, "m"]
    low: Float[np.ndarray, "m"]
    high: Float[np.ndarray, "m"]

    def cell(self, i: int) -> str:
        return f"{self.value[i]:.2f} [{self.low[i]:.2f}, {self.high[i]:.2f}]"


@dataclass(frozen=True)
class Departure:
    """How far a measure of one coordinate is from calibrated; `size` is 1 at the bar."""

    coordinate: int
    measure: str
    value: float
    size: float

    def __str__(self) -> str:
        if self.measure == "rms_z":
            return f"intervals are {width_error(self.value)} in sigma"
        if self.measure == "mean_z":
            return (
                f"draws are {abs(self.value):.2g} sigma too {'low' if self.value > 0 else 'high'} on average"
            )
        return f"{self.measure.removeprefix('coverage_')} % intervals cover {100 * self.value:.0f} %"


def width_error(rms: float) -> str:
    """A root mean square z in words: 1.33 is `25 % too narrow`."""
    share, way = (1 - 1 / rms, "narrow") if rms > 1 else (1 / max(rms, 1e-9) - 1, "wide")
    return f"{100 * share:.0f} % too {way}"


@dataclass(frozen=True, eq=False)
class Calibration:
    """What `datasets` datasets of n observations say, per coordinate: `rms_z` (1: calibrated, above: too sure),
    `mean_z` (above 0: draws are too low), and the coverage of 50 and 90 % intervals.

    `rms_error` is the standard error of log `rms_z`; `overall`: the root mean square z of all coordinates together, and
    the standard error of its logarithm; `lost`: datasets with too few finite draws to be judged.
    """

    n: int
    datasets: int
    lost: int
    rms_z: Estimate
    mean_z: Estimate
    coverage_50: Estimate
    coverage_90: Estimate
    rms_error: Float[np.ndarray, "m"]
    overall: tuple[float, float]

    @property
    def dim(self) -> int:
        return len(self.rms_error)

    @property
    def departures(self) -> list[Departure]:
        """All measures beyond their bars and no chance, the largest first; none: trustworthy at this n."""
        beyond = [departure for departure, chance in self._measured() if departure.size > 1 and not chance]
        return sorted(beyond, key=lambda departure: -departure.size)

    @property
    def near_bar(self) -> bool:
        """Whether a width is so near its bar, or every departure so little beyond, that more datasets could change the
        verdict."""
        low, high = _SIZES_NEAR_BAR
        widths = [size for (_, measure), size in self.sizes().items() if measure == "rms_z"]
        departures = self.departures
        return low < max(widths) < high or bool(departures and departures[0].size < high)

    def sizes(self) -> dict[tuple[int, str], float]:
        """The size of the departure of every coordinate and measure, 1 at the bar."""
        measured = [departure for departure, _ in self._measured()]
        return {(departure.coordinate, departure.measure): departure.size for departure in measured}

    @property
    def pooled_rms_z(self) -> Float[np.ndarray, "m"]:
        """`rms_z`, pulled to the mean of all coordinates as far as their differences are those of chance."""
        values, weights = np.log(self.rms_z.value), 1 / self.rms_error**2
        mean = (weights * values).sum() / weights.sum()
        if self.dim == 1:
            return self.rms_z.value
        excess = (weights * (values - mean) ** 2).sum() - (self.dim - 1)
        variance = max(0.0, excess / (weights.sum() - (weights**2).sum() / weights.sum()))
        return np.exp(mean + variance / (variance + self.rms_error**2) * (values - mean))

    def _measured(self) -> Iterator[tuple[Departure, bool]]:
        """Every measure of every coordinate, and whether it is within chance of a calibrated posterior."""
        bar = critical(self.dim)
        # Coordinates that are all a little too narrow are no chance together, though each alone may be.
        all_by_chance = abs(math.log(self.overall[0])) < bar * self.overall[1]
        for i, rms in enumerate(self.pooled_rms_z):
            size = abs(math.log(rms)) / math.log(NARROW_BAR if rms > 1 else WIDE_BAR)
            error = max(self.rms_error[i], math.sqrt(0.5 / self.datasets))
            one_by_chance = abs(math.log(self.rms_z.value[i])) < bar * error
            yield Departure(i, "rms_z", float(rms), size), bool(one_by_chance and all_by_chance)
            shift = float(self.mean_z.value[i])
            yield (
                Departure(i, "mean_z", shift, abs(shift) / SHIFT_BAR),
                abs(shift) < bar / math.sqrt(self.datasets),
            )
            for level in LEVELS:
                name = f"coverage_{100 * level:.0f}"
                share = float(getattr(self, name).value[i])
                limit = covered(level, WIDE_BAR if share < level else 1 / WIDE_BAR)
                p_value = _p_value(round(share * self.datasets), self.datasets, level)
                chance = p_value > 2 * _NORMAL.cdf(-bar)
                yield Departure(i, name, share, (share - level) / (limit - level)), chance

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {key: value for key, value in vars(self).items() if isinstance(value, int)}
        for key, value in vars(self).items():
            if isinstance(value, Estimate):
                plain[key] = [part.tolist() for part in vars(value).values()]
        return {**plain, "rms_error": self.rms_error.tolist(), "overall": list(self.overall)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Calibration:
        fields: dict[str, Any] = dict(plain)
        for key in ("rms_z", "mean_z", "coverage_50", "coverage_90"):
            fields[key] = Estimate(*map(np.asarray, plain[key]))
        arrays = {"rms_error": np.asarray(plain["rms_error"]), "overall": tuple(plain["overall"])}
        return cls(**{**fields, **arrays})


def covered(level: float, factor: float) -> float:
    """What Gaussian intervals of this level cover if sigma should be `factor` times as large."""
    return 2 * _NORMAL.cdf(_NORMAL.inv_cdf((1 + level) / 2) / factor) - 1


def critical(dim: int) -> float:
    """Standard errors from which on the largest of all measures of `dim` coordinates is no chance."""
    measures = dim * (2 + len(LEVELS))
    return _NORMAL.inv_cdf(1 - _FAMILY_ERROR / (2 * measures))


def detectable(datasets: int, dim: int) -> tuple[float, float]:
    """The factor on sigma and the shift in sigma that so many datasets find four times in five."""
    errors = critical(dim) + _NORMAL.inv_cdf(_POWER)
    return math.exp(errors * math.sqrt(0.5 / datasets)), errors / math.sqrt(datasets)


def calibration(
    n: int, theta: Float[np.ndarray, "B m"], drawn: Float[np.ndarray, "B S m"], rng: np.random.Generator
) -> Calibration:
    """`theta`: true parameters, `drawn`: draws of the posterior of each dataset, both in the prior's latent space.

    Draws that are not finite are left out; with fewer than half of them left a dataset is lost.
    """
    theta, drawn = np.asarray(theta, dtype=np.float64), np.asarray(drawn, dtype=np.float64)
    if drawn.shape[1] < MIN_SAMPLES:
        raise ValueError(
            f"n_samples = {drawn.shape[1]}: a standard deviation needs {MIN_SAMPLES} draws or more."
        )
    finite = np.isfinite(drawn).all(-1)
    lost = finite.sum(1) < max(MIN_SAMPLES, drawn.shape[1] / 2)
    z, position = offsets(theta, drawn, finite, rng)
    return summary(n, np.where(lost[:, None], np.nan, z), np.where(lost[:, None], np.nan, position), rng)


def summary(
    n: int, z: Float[np.ndarray, "B m"], position: Float[np.ndarray, "B m"], rng: np.random.Generator
) -> Calibration:
    """From the offsets, and the positions of theta* among the draws in [0, 1]; both NaN for a dataset that is lost."""
    lost = np.isnan(z).any(1)
    clipped = np.clip(z, -_LARGEST_Z, _LARGEST_Z)
    squares = np.where(np.isnan(z), _LARGEST_Z, clipped) ** 2
    clipped = np.where(np.isnan(z), 0.0, clipped)
    # Whole datasets are drawn again: their coordinates belong together.
    weights = rng.multinomial(len(z), np.full(len(z), 1 / len(z)), size=_RESAMPLES) / len(z)
    mean_squares = squares.mean(0).clip(1e-12)
    rms = _estimate(np.sqrt(mean_squares), np.sqrt(weights @ squares))
    # The scatter of the squares, and not less than that of a Gaussian: few datasets may show none of it.
    error = np.sqrt(np.maximum(squares.var(0, ddof=1) / mean_squares**2, 2.0) / len(z)) / 2
    rows, dim = squares.mean(1), squares.shape[1]
    scatter = math.sqrt(max(rows.var(ddof=1) / max(rows.mean(), 1e-12) ** 2, 2.0 / dim) / len(z)) / 2
    inside = [np.abs(position - 0.5) < level / 2 for level in LEVELS]
    return Calibration(
        n,
        len(z),
        int(lost.sum()),
        rms,
        _estimate(clipped.mean(0), weights @ clipped),
        _shares(inside[0]),
        _shares(inside[1]),
        error,
        (math.sqrt(max(float(rows.mean()), 1e-12)), scatter),
    )


def offsets(
    theta: Float[np.ndarray, "B m"],
    drawn: Float[np.ndarray, "B S m"],
    finite: Bool[np.ndarray, "B S"],
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "B m"], Float[np.ndarray, "B m"]]:
    """z, and the position of theta* among the draws, uniform on [0, 1] for the exact posterior."""
    kept, count = finite[..., None], np.maximum(finite.sum(1), 4)[:, None].astype(float)
    values = np.where(kept, drawn, 0.0)
    mean = values.sum(1) / count
    variance = (np.where(kept, values - mean[:, None], 0.0) ** 2).sum(1) / (count - 1)
    scale = np.sqrt(variance * (1 + 1 / count) * (count - 1) / (count - 3))
    distance = theta - mean
    # Draws without any spread: exactly right, or as wrong as can be.
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(scale > 0, distance / scale, np.where(distance == 0, 0.0, np.sign(distance) * np.inf))
    below = (kept & (drawn < theta[:, None])).sum(1)
    equal = (kept & (drawn == theta[:, None])).sum(1)
    return z, (below + rng.uniform(size=theta.shape) * (equal + 1)) / (count + 1)


def _estimate(value: Float[np.ndarray, "m"], resampled: Float[np.ndarray, "R m"]) -> Estimate:
    low, high = np.quantile(resampled, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], axis=0)
    return Estimate(value, np.minimum(low, value), np.maximum(high, value))


def _shares(inside: Bool[np.ndarray, "B m"]) -> Estimate:
    """Shares with exact (Clopper-Pearson) intervals, by bisection."""
    count, hits = len(inside), inside.sum(0)
    low, high = np.zeros((2, 2, len(hits)))
    high += 1
    for _ in range(30):
        middle = (low + high) / 2
        tails = np.array([1 - _binomial(hits - 1, count, middle[0]), _binomial(hits, count, middle[1])])
        # The lower end: the upper tail is still too small. The upper end: the lower tail is still too large.
        higher = np.array([tails[0] < (1 - _CONFIDENCE) / 2, tails[1] > (1 - _CONFIDENCE) / 2])
        low, high = np.where(higher, middle, low), np.where(higher, high, middle)
    return Estimate(hits / count, np.where(hits == 0, 0.0, low[0]), np.where(hits == count, 1.0, high[1]))


def _binomial(k: Any, count: int, p: Any) -> Any:
    """P(X <= k)."""
    choose, i = _log_choose(count), np.arange(count + 1)
    k, p = np.asarray(k)[..., None], np.asarray(p)[..., None]
    return np.where(i <= k, np.exp(choose + i * np.log(p) + (count - i) * np.log1p(-p)), 0.0).sum(-1)


@lru_cache(maxsize=16)
def _log_choose(count: int) -> Float[np.ndarray, "k"]:
    logs = np.concatenate([[0.0], np.log(np.arange(1, count + 1)).cumsum()])
    return logs[-1] - logs - logs[::-1]


def _p_value(hits: int, count: int, level: float) -> float:
    """Two-sided p-value of so many hits: twice the smaller tail."""
    return float(2 * min(_binomial(hits, count, level), 1 - _binomial(hits - 1, count, level)))

"""Which draws are lost, and which comparisons mean nothing: what a bounded metric cannot see.

A draw is lost if it is not finite, or more than `FAR_OFF` prior standard deviations from the prior's mean in some
coordinate. A run is lost if more than `LOST_SHARE` of its draws are. Being a share, this does not depend on the number
of draws, and 1e61 counts like infinity. Distances of a run that is not lost are taken over the draws that are not.

MMD² and C2ST are bounded and say nothing of draws that blew up: the kernel of MMD² no longer sees them, so that it is
smaller than for a narrow cloud at a wrong place, and the classifier of C2ST, its inputs far from one, stops at once
with an accuracy of exactly 0.5. A comparison is therefore invalid if the draws are more than `BLOWN_UP` times as wide
as the reference, and a C2ST also if its classifier had too few samples for the dimension (`starved`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

FAR_OFF = 10.0  # prior standard deviations
LOST_SHARE = 0.01
BLOWN_UP = 10.0  # times the width of the reference
WIDTH_SHARE = 0.98  # of the draws: the width of a sample leaves out as many as a run may lose, at either end


def usable_draws(
    theta: Float[np.ndarray, "*batch S m"],
    mean: Float[np.ndarray, "*#any m"],
    std: Float[np.ndarray, "*#any m"],
) -> Bool[np.ndarray, "*batch S"]:
    """The draws that are not lost, given mean and standard deviation of the prior."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (np.abs(theta.astype(np.float64) - mean) <= FAR_OFF * std).all(-1)


def lost_share(usable: Bool[np.ndarray, "S"]) -> float:
    """The share of draws that are lost; they are counted, because 1 - 0.99 is more than 0.01."""
    return float(np.mean(~usable))


def is_lost(share: Any) -> Any:
    """Whether runs with these shares of lost draws are lost; numbers, arrays or columns."""
    return share > LOST_SHARE


def blew_up(samples: Float[np.ndarray, "S m"], reference: Float[np.ndarray, "R m"]) -> bool:
    """Whether the samples are too wide, in some coordinate, for a bounded metric to mean anything."""
    if not (np.isfinite(samples).all() and np.isfinite(reference).all()):
        return True
    return bool((_width(samples) > BLOWN_UP * _width(reference)).any())


def starved(samples: int, m: int, per_dimension: int) -> bool:
    """Whether a classifier has too few samples of either kind for m dimensions."""
    return samples < per_dimension * m


def _width(draws: np.ndarray) -> np.ndarray:
    ends = np.quantile(draws.astype(np.float64), [(1 - WIDTH_SHARE) / 2, (1 + WIDTH_SHARE) / 2], axis=0)
    with np.errstate(over="ignore"):
        return ends[1] - ends[0]

"""Clouds of samples and their densities: histograms smoothed with a Gaussian, and contours that hold a share.

Posteriors here may have several narrow modes (SLCP has four), so the bandwidth follows the width of a mode
and not that of the whole cloud.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter

BINS = 96
MIN_DRAWS = 10  # samples that a density is drawn of
SHARES = (0.5, 0.9)  # of the samples, which the contours of pairs hold
_GRID_SHARE = 0.95  # of the samples, which the grid holds
_GRID_MARGIN = 0.25  # of the length of their interval, which the grid goes on beyond it
_QUARTER_LENGTH = 0.6373  # length of the shortest interval that holds a quarter of a unit Gaussian


def cloud(
    frame: pd.DataFrame, index: str, names: Sequence[str]
) -> tuple[Float[np.ndarray, "_ m"], Bool[np.ndarray, "S"]]:
    """The finite samples [S, m] of a frame with a row per sample (`index`) and parameter, and which are finite."""
    samples = frame.pivot(index=index, columns="parameter", values="value")[list(names)].to_numpy(float)
    finite = np.isfinite(samples).all(1)
    return samples[finite], finite


def shade(colormap: str, ends: tuple[float, float], n: int, counts: Sequence[int]) -> tuple[float, ...]:
    """The colour of n among all n of a figure: `ends` of the colour map for the smallest and the largest."""
    rank = list(counts).index(n) / max(1, len(counts) - 1)
    return tuple(matplotlib.colormaps[colormap](ends[0] + (ends[1] - ends[0]) * rank))


def shortest_interval(values: Float[np.ndarray, "S"], share: float) -> tuple[float, float]:
    """The shortest interval that holds a share of the values."""
    ordered = np.sort(values)
    count = max(1, round(share * len(ordered)))
    lengths = ordered[count:] - ordered[:-count]
    start = int(lengths.argmin()) if len(lengths) else 0
    return float(ordered[start]), float(ordered[min(start + count, len(ordered) - 1)])


def mode_width(values: Float[np.ndarray, "S"]) -> float:
    """Standard deviation of the Gaussian with the same shortest interval that holds a quarter of the values."""
    low, high = shortest_interval(values, 0.25)
    return (high - low) / _QUARTER_LENGTH


def marginal(
    values: Float[np.ndarray, "S"],
) -> tuple[Float[np.ndarray, "bins"], Float[np.ndarray, "bins"]]:
    """Grid and density of one parameter."""
    (centres,), density = _smooth(values[:, None])
    return centres, density


def joint(
    points: Float[np.ndarray, "S 2"],
) -> tuple[Float[np.ndarray, "bins"], Float[np.ndarray, "bins"], Float[np.ndarray, "bins bins"]]:
    """Grids of both parameters and their density [first, second]."""
    (first, second), density = _smooth(points)
    return first, second, density


def levels(density: Float[np.ndarray, "..."], shares: tuple[float, ...]) -> list[float]:
    """For each share the density that bounds the region of highest density with this share, in ascending order.

    Shares that fall into the same cell, where runaway samples stretch the grid, have one level.
    """
    ordered = np.sort(density.ravel())[::-1]
    held = np.cumsum(ordered) / ordered.sum()
    return sorted({float(ordered[np.searchsorted(held, share)]) for share in shares})


def _smooth(points: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Centres of the bins per axis, and the density on them; a few runaways are left outside the grid."""
    samples, dims = points.shape
    widths = np.array([mode_width(column) for column in points.T])
    bandwidth = np.maximum(widths, 1e-9 * (1 + np.abs(points).max(0))) * samples ** (-1 / (dims + 4))
    ends = np.array([shortest_interval(column, _GRID_SHARE) for column in points.T]).T
    margin = np.maximum(3 * bandwidth, _GRID_MARGIN * (ends[1] - ends[0]))
    low, high = ends[0] - margin, ends[1] + margin
    counts, edges = np.histogramdd(points, BINS, list(zip(low, high, strict=True)), density=True)
    centres = [(edge[1:] + edge[:-1]) / 2 for edge in edges]
    return centres, gaussian_filter(counts, bandwidth * BINS / (high - low), mode="constant")

"""The summary of a signal that inference sees: its log power spectrum in 33 bins (section 4.3).

The power is averaged over windows of 65 samples, one every 32 samples, without taper (Welch's method with a
boxcar): of 1024 samples at 128 Hz there are 30 windows, and bin f is at f 128/65 = 1.97 f Hz. With x a
window, its power in bin f is |sum_j x_j exp(-2 pi i f j / 65)|^2, and the summary is the log10 of the mean.

65 is odd, so apart from x_0 samples come in pairs (j, 65 - j): their sums have only cosines, their
differences only sines, and both transforms are products with tables of half the size.
"""

from __future__ import annotations

from functools import cache
from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float

WINDOW, HOP = 65, 32
BINS = WINDOW // 2 + 1
FLOOR = 1e-30
"""Smallest power: a signal of zeros has the summary -30. Rounding errors alone have more power than that."""

_PAIRS = WINDOW // 2
_WIDTH = 36  # BINS, rounded up to whole vectors


def log_spectra(signals: Float[np.ndarray, "N samples"]) -> Float[np.ndarray, "N 33"]:
    """log10 of the mean power of each signal in each bin, at least log10 of `FLOOR`; NaN for NaN."""
    if signals.shape[1] < WINDOW:
        raise ValueError(
            f"log_spectra: signals of {signals.shape[1]} samples are shorter than a window of {WINDOW}; "
            "simulate for longer."
        )
    out = np.empty((len(signals), BINS))
    write_log_spectra(np.ascontiguousarray(signals, dtype=np.float64), out)
    return out


def write_log_spectra(
    signals: Float[np.ndarray, "N samples"], out: Float[np.ndarray, "N 33"]
) -> Float[np.ndarray, "N 33"]:
    """The same for contiguous float64 signals, into `out`."""
    _powers(signals, *_tables(), out)
    # Not `maximum(FLOOR, out)` for the sake of a NaN: numpy passes it on in either order.
    np.maximum(out, FLOOR, out=out)
    return np.log10(out, out=out)


@cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """cos and sin(2 pi f j / 65) for the pairs j = 1, ..., 32, flat, rows j of `_WIDTH` bins f."""
    # f j is reduced first, so that the angle is as exact as a float can be.
    angle = 2 * np.pi / WINDOW * (np.outer(np.arange(1, _PAIRS + 1), np.arange(_WIDTH)) % WINDOW)
    return np.cos(angle).ravel(), np.sin(angle).ravel()


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
@no_type_check
def _powers(signals, cosines, sines, out):  # pragma: no cover - compiled
    count, samples = signals.shape
    windows = (samples - WINDOW) // HOP + 1
    sums, differences = np.empty(_PAIRS), np.empty(_PAIRS)
    work = np.empty(3 * _WIDTH)  # real and imaginary part, power
    for row in range(count):
        x = signals[row]
        for f in range(_WIDTH):
            work[2 * _WIDTH + f] = 0.0
        for window in range(windows):
            start = window * HOP
            for j in range(_PAIRS):
                left, right = x[start + 1 + j], x[start + WINDOW - 1 - j]
                sums[j] = left + right
                differences[j] = left - right
            for f in range(_WIDTH):
                work[f] = x[start]
                work[_WIDTH + f] = 0.0
            for j in range(0, _PAIRS, 4):
                e0, e1, e2, e3 = sums[j], sums[j + 1], sums[j + 2], sums[j + 3]
                d0, d1, d2, d3 = differences[j], differences[j + 1], differences[j + 2], differences[j + 3]
                at = j * _WIDTH
                for f in range(_WIDTH):
                    i = at + f
                    work[f] += (e0 * cosines[i] + e1 * cosines[i + _WIDTH]) + (
                        e2 * cosines[i + 2 * _WIDTH] + e3 * cosines[i + 3 * _WIDTH]
                    )
                    work[_WIDTH + f] += (d0 * sines[i] + d1 * sines[i + _WIDTH]) + (
                        d2 * sines[i + 2 * _WIDTH] + d3 * sines[i + 3 * _WIDTH]
                    )
            for f in range(_WIDTH):
                real, imaginary = work[f], work[_WIDTH + f]
                work[2 * _WIDTH + f] += real * real + imaginary * imaginary
        for f in range(BINS):
            out[row, f] = work[2 * _WIDTH + f] / windows

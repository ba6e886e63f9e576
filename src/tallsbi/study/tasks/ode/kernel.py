"""Many trajectories of a' = alpha - beta e^b, b' = -gamma + delta e^a, compiled, side by side on threads.

The method of Dormand and Prince, order 5 with an error estimate of order 4; every trajectory chooses its own
steps and lands exactly on the times asked for. `no_type_check` keeps the tests' run-time check of
annotations from hiding the functions from the compiler.
"""

from __future__ import annotations

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float

TOLERANCE = 1e-10
_MAX_STEPS = 200_000


@numba.njit(cache=True, inline="always")
@no_type_check
def _slope(a, b, alpha, beta, gamma, delta):  # pragma: no cover - compiled
    return alpha - beta * np.exp(b), delta * np.exp(a) - gamma


@numba.njit(cache=True, error_model="numpy")
@no_type_check
def _trajectory(rates, start, times, tolerance, states):  # pragma: no cover - compiled
    """Fills states [time, 2]; NaN from the time on that was not reached within the allowed steps."""
    alpha, beta, gamma, delta = rates[0], rates[1], rates[2], rates[3]
    a, b = start[0], start[1]
    a1, b1 = _slope(a, b, alpha, beta, gamma, delta)
    t = 0.0
    h = 0.01 / (1.0 + abs(a1) + abs(b1))
    steps = 0
    for index in range(len(times)):
        end = times[index]
        while t < end:
            steps += 1
            if steps > _MAX_STEPS or not h > 1e-14 * end:
                states[index:] = np.nan
                return
            last = t + h >= end
            s = end - t if last else h
            a2, b2 = _slope(a + s * (a1 / 5), b + s * (b1 / 5), alpha, beta, gamma, delta)
            a3, b3 = _slope(
                a + s * (3 / 40 * a1 + 9 / 40 * a2),
                b + s * (3 / 40 * b1 + 9 / 40 * b2),
                alpha, beta, gamma, delta,
            )  # fmt: skip
            a4, b4 = _slope(
                a + s * (44 / 45 * a1 - 56 / 15 * a2 + 32 / 9 * a3),
                b + s * (44 / 45 * b1 - 56 / 15 * b2 + 32 / 9 * b3),
                alpha, beta, gamma, delta,
            )  # fmt: skip
            a5, b5 = _slope(
                a + s * (19372 / 6561 * a1 - 25360 / 2187 * a2 + 64448 / 6561 * a3 - 212 / 729 * a4),
                b + s * (19372 / 6561 * b1 - 25360 / 2187 * b2 + 64448 / 6561 * b3 - 212 / 729 * b4),
                alpha, beta, gamma, delta,
            )  # fmt: skip
            a6, b6 = _slope(
                a + s * (9017 / 3168 * a1 - 355 / 33 * a2 + 46732 / 5247 * a3 + 49 / 176 * a4 - 5103 / 18656 * a5),
                b + s * (9017 / 3168 * b1 - 355 / 33 * b2 + 46732 / 5247 * b3 + 49 / 176 * b4 - 5103 / 18656 * b5),
                alpha, beta, gamma, delta,
            )  # fmt: skip
            next_a = a + s * (
                35 / 384 * a1 + 500 / 1113 * a3 + 125 / 192 * a4 - 2187 / 6784 * a5 + 11 / 84 * a6
            )
            next_b = b + s * (
                35 / 384 * b1 + 500 / 1113 * b3 + 125 / 192 * b4 - 2187 / 6784 * b5 + 11 / 84 * b6
            )
            a7, b7 = _slope(next_a, next_b, alpha, beta, gamma, delta)
            error_a = s * (
                71 / 57600 * a1
                - 71 / 16695 * a3
                + 71 / 1920 * a4
                - 17253 / 339200 * a5
                + 22 / 525 * a6
                - a7 / 40
            )
            error_b = s * (
                71 / 57600 * b1
                - 71 / 16695 * b3
                + 71 / 1920 * b4
                - 17253 / 339200 * b5
                + 22 / 525 * b6
                - b7 / 40
            )
            error = max(abs(error_a), abs(error_b)) / tolerance
            if error <= 1.0:  # False for NaN
                # A step cut short by an observation time says nothing against the longer one planned.
                grown = s * min(5.0, 0.9 * max(error, 1e-10) ** -0.2)
                h = max(h, grown) if last else grown
                t = end if last else t + s
                a, b, a1, b1 = next_a, next_b, a7, b7
            else:
                h = s * (max(0.2, 0.9 * error**-0.2) if error < np.inf else 0.1)
        states[index, 0] = a
        states[index, 1] = b


@numba.njit(cache=True, parallel=True, error_model="numpy")
@no_type_check
def _trajectories(rates, start, times, tolerance, states):  # pragma: no cover - compiled
    for i in numba.prange(len(rates)):
        _trajectory(rates[i], start, times, tolerance, states[i])


def trajectories(
    rates: Float[np.ndarray, "N 4"],
    start: Float[np.ndarray, "2"],
    times: Float[np.ndarray, "T"],
    tolerance: float = TOLERANCE,
) -> Float[np.ndarray, "N T 2"]:
    """(a, b) at the given times, increasing from t = 0 on, for each row (alpha, beta, gamma, delta)."""
    rates = np.ascontiguousarray(rates, dtype=np.float64)
    states = np.empty((len(rates), len(times), 2))
    _trajectories(rates, np.asarray(start, float), np.asarray(times, float), tolerance, states)
    failed = ~np.isfinite(states).all((1, 2))
    if failed.any():
        first = int(failed.argmax())
        raise ValueError(
            f"{int(failed.sum())} of {len(rates)} trajectories cannot be integrated, the first with rates "
            f"{rates[first].tolist()}: the rates must be finite and not too large for {_MAX_STEPS} steps."
        )
    return states

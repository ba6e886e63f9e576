"""Compiled kernels over many small matrices, 64 side by side, one per SIMD lane.

Gauss-Jordan elimination without pivoting: `tallsbi.linalg.batched` decides from the pivots which results to trust.
`no_type_check` keeps the tests' run-time check of annotations from hiding the functions from the compiler.
"""

from typing import no_type_check

import numba
import numpy as np

LANES = 64


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"}, inline="always")
@no_type_check
def _eliminate(work, factor, smallest, largest):  # pragma: no cover - compiled
    """Inverts work [m, m, LANES] in place and records the smallest and the largest pivot of each lane."""
    m = work.shape[0]
    one = work.dtype.type(1)
    for lane in range(LANES):
        smallest[lane] = np.inf
        largest[lane] = 0
    for k in range(m):
        for lane in range(LANES):
            pivot = work[k, k, lane]
            # `not >=` and not `<`: a NaN pivot must count as a bad one.
            if not pivot >= smallest[lane]:
                smallest[lane] = pivot
            if abs(pivot) > largest[lane]:
                largest[lane] = abs(pivot)
        for lane in range(LANES):
            factor[lane] = one / work[k, k, lane]
        for j in range(m):
            for lane in range(LANES):
                work[k, j, lane] *= factor[lane]
        for lane in range(LANES):
            work[k, k, lane] = factor[lane]
        for i in range(m):
            if i != k:
                for lane in range(LANES):
                    factor[lane] = work[i, k, lane]
                    work[i, k, lane] = 0
                for j in range(m):
                    for lane in range(LANES):
                        work[i, j, lane] -= factor[lane] * work[k, j, lane]


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
@no_type_check
def invert(matrices, inverses, smallest, largest, work, lanes):  # pragma: no cover - compiled
    """Inverses and pivot ranges of matrices [N, m, m]; `lanes` [3, LANES] is scratch."""
    count, m, _ = matrices.shape
    for start in range(0, count, LANES):
        used = min(LANES, count - start)
        for lane in range(used):
            for i in range(m):
                for j in range(m):
                    work[i, j, lane] = matrices[start + lane, i, j]
        _eliminate(work, lanes[0], lanes[1], lanes[2])
        for lane in range(used):
            smallest[start + lane] = lanes[1, lane]
            largest[start + lane] = lanes[2, lane]
            for i in range(m):
                for j in range(m):
                    inverses[start + lane, i, j] = work[i, j, lane]


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
@no_type_check
def accumulate(
    jacobians, scores, per_row, sigma2, ratio, excess_sum, weighted_sum, unsafe, work, lanes
):  # pragma: no cover - compiled
    """Adds E = (I + sigma2 J)^-1 - I and E s of every (row, observation) to the sums of its row.

    jacobians [N, m, m] and scores [N, m] hold `per_row` consecutive entries per row of the sums. An entry
    whose pivots are not all positive and within `ratio` of each other is left out and marked `unsafe`.
    """
    count, m, _ = jacobians.shape
    for start in range(0, count, LANES):
        used = min(LANES, count - start)
        for lane in range(used):
            for i in range(m):
                for j in range(m):
                    work[i, j, lane] = sigma2 * jacobians[start + lane, i, j]
                work[i, i, lane] += 1
        _eliminate(work, lanes[0], lanes[1], lanes[2])
        for lane in range(used):
            entry = start + lane
            if not lanes[1, lane] > ratio * lanes[2, lane]:
                unsafe[entry] = True
                continue
            row = entry // per_row
            for i in range(m):
                work[i, i, lane] -= 1
                total = weighted_sum[row, i]
                for j in range(m):
                    value = work[i, j, lane]
                    excess_sum[row, i, j] += value
                    total += value * scores[entry, j]
                weighted_sum[row, i] = total

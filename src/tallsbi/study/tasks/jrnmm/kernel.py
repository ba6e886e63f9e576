"""The compiled time stepping of the Jansen-Rit model: `LANES` simulations side by side, one per SIMD lane.

Strang splitting with step h: half a kick of the velocities by the drive, the exact linear step with its
Gaussian noise, half a kick. Positions do not change in a kick, so the two half kicks between two linear
steps are one whole kick, and the positions, which are recorded, are the same as with two half kicks:

    x_0, half kick, [linear step, record positions, whole kick], [linear step, record, whole kick], ...

Random numbers are counter-based (Philox4x32-10; Salmon et al. 2011, "Parallel random numbers: as easy as
1, 2, 3"). The key is the seed, the counter (index of the simulation, block within its stream); a block gives
four standard normals by the method of Box and Muller. So the stream z_0, z_1, ... of a simulation depends
on the seed and on its index alone: z_0..z_5 are its start, z_{6j}..z_{6j+5} the noise of its j-th step, in
pairs for the three oscillators. Uniform numbers have 32 bits: no normal is larger than 6.77, which one in
7 10^10 should be (a simulation needs 6 10^4).

Everything is done in float64. exp, log, sin and cos are polynomials, without branches, because calls to the
mathematical library would keep the compiler from using vector instructions. All arrays of a block of lanes
are rows of one array at distances the compiler knows, for the same reason. Every lane does the same
operations whatever its neighbours are, and `contract` (fused multiply-add) is decided when compiling: bytes
depend neither on the number of threads nor on which simulations share a block.

One file, because a cached function is compiled anew when its own file changes, not when another one does.
`no_type_check` keeps the tests' run-time check of annotations from hiding the functions from the compiler.
"""

from __future__ import annotations

import math
from typing import no_type_check

import numba
import numpy as np
from numba.extending import intrinsic

LANES = 32

# Rows of the array that holds a block: positions, velocities, the noise of two steps, parameters.
_X0, _X1, _X2, _V0, _V1, _V2 = (LANES * row for row in range(6))
_Z = 6 * LANES
_R1, _R2, _MEAN, _KICK1, _KICK2, _SIGMA = (LANES * row for row in range(18, 24))
ROWS = 24
PARAMETER_ROWS = slice(18, 24)

_MASK32 = 0xFFFFFFFF
_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85

_TWO52, _TWO52_BITS = 2.0**52, 0x4330000000000000  # whose low bits are those of a whole number added to it
_ROUNDING_SHIFT = 1.5 * 2.0**52  # adding it rounds to an integer, which then is in the low bits
_LOG2E = 1 / math.log(2)
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # few enough bits that its product with an exponent is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_SQRT_HALF = 0x3FE6A09E667F3BCD  # bits of sqrt(1/2)
_MAX_EXPONENT = 500.0  # the sigmoid is 0 or 1 long before, and exp stays finite

_EXP = tuple(1 / math.factorial(i) for i in range(13))
_LOG = tuple(2 / (2 * i + 1) for i in range(9))
_SIN = tuple((-1) ** i / math.factorial(2 * i + 1) for i in range(9))
_COS = tuple((-1) ** i / math.factorial(2 * i) for i in range(10))


@intrinsic
@no_type_check
def _bits(context, x):
    """The 64 bits of a float64 as an int64."""

    @no_type_check
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(numba.int64))

    return numba.int64(numba.float64), code


@intrinsic
@no_type_check
def _float(context, bits):
    """The float64 with these 64 bits."""

    @no_type_check
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(numba.float64))

    return numba.float64(numba.int64), code


_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _exp(x):  # pragma: no cover - compiled
    """For |x| < 700; relative error below 4e-16."""
    shifted = x * _LOG2E + _ROUNDING_SHIFT
    n = shifted - _ROUNDING_SHIFT
    y = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = _EXP[12]
    for i in range(11, -1, -1):
        p = p * y + _EXP[i]
    return p * _float((_bits(shifted) + 1023) << 52)


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _log(u):  # pragma: no cover - compiled
    """For u in [2^-1000, 2^1000]; relative error below 2e-15.

    u = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m + 1)).
    """
    bits = _bits(u)
    # 1024 is added so that no negative number is shifted: there is no vector instruction for that.
    e = (bits - _SQRT_HALF + (1024 << 52)) >> 52
    m = _float(bits - ((e - 1024) << 52))
    exponent = _float(e | _TWO52_BITS) - (_TWO52 + 1024)
    s = (m - 1) / (m + 1)
    w = s * s
    p = _LOG[8]
    for i in range(7, -1, -1):
        p = p * w + _LOG[i]
    return exponent * _LN2_HIGH + (exponent * _LN2_LOW + s * p)


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _two_normals(first, second):  # pragma: no cover - compiled
    """Box and Muller: two standard normals from two words of 32 random bits."""
    # A word becomes a float by way of its bits; the half keeps it off 0 and makes it symmetric.
    u = (_float(first | _TWO52_BITS) - (_TWO52 - 0.5)) * 2.0**-32
    radius = math.sqrt(-2 * _log(u))
    # The angle is in (-pi/2, pi/2), with the remaining bit the sign of the cosine.
    centred = _float((second & 0x7FFFFFFF) | _TWO52_BITS) - (_TWO52 + 2.0**30)
    x = (centred + 0.5) * (math.pi * 2.0**-31)
    w = x * x
    s, c = _SIN[8], _COS[9]
    for i in range(7, -1, -1):
        s = s * w + _SIN[i]
    for i in range(8, -1, -1):
        c = c * w + _COS[i]
    sign = (second >> 31) << 63
    return radius * _float(_bits(c) ^ sign), radius * (s * x)


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _philox_round(c0, c1, c2, c3, k0, k1):  # pragma: no cover - compiled
    p0, p1 = _M0 * c0, _M1 * c2
    return ((p1 >> 32) & _MASK32) ^ c1 ^ k0, p1 & _MASK32, ((p0 >> 32) & _MASK32) ^ c3 ^ k1, p0 & _MASK32


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _philox(c0, c1, c2, c3, k0, k1):  # pragma: no cover - compiled
    """Four words of 32 random bits for the four of the counter and the two of the key, all in int64."""
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, k0, k1)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + _W0) & _MASK32, (k1 + _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 2 * _W0) & _MASK32, (k1 + 2 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 3 * _W0) & _MASK32, (k1 + 3 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 4 * _W0) & _MASK32, (k1 + 4 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 5 * _W0) & _MASK32, (k1 + 5 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 6 * _W0) & _MASK32, (k1 + 6 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 7 * _W0) & _MASK32, (k1 + 7 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 8 * _W0) & _MASK32, (k1 + 8 * _W1) & _MASK32)
    c0, c1, c2, c3 = _philox_round(c0, c1, c2, c3, (k0 + 9 * _W0) & _MASK32, (k1 + 9 * _W1) & _MASK32)
    return c0, c1, c2, c3


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _fill(work, at, index, block, k0, k1):  # pragma: no cover - compiled
    """Writes four rows of normals from `at` on: the given block of the streams index, index + 1, ..."""
    for lane in range(LANES):
        i = index + lane
        w0, w1, w2, w3 = _philox(i & _MASK32, (i >> 32) & _MASK32, block & _MASK32, block >> 32, k0, k1)
        z0, z1 = _two_normals(w0, w1)
        z2, z3 = _two_normals(w2, w3)
        work[at + lane] = z0
        work[at + LANES + lane] = z1
        work[at + 2 * LANES + lane] = z2
        work[at + 3 * LANES + lane] = z3


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _sigmoid(y):  # pragma: no cover - compiled
    """1 / (1 + exp(y))."""
    y = y if y < _MAX_EXPONENT else _MAX_EXPONENT
    y = y if y > -_MAX_EXPONENT else -_MAX_EXPONENT
    return 1 / (1 + _exp(y))


@numba.njit(**_OPTIONS)
@no_type_check
def _kick(work, r, r_v0, kick0, share):  # pragma: no cover - compiled
    """Adds `share` of a whole kick to the velocities."""
    for lane in range(LANES):
        x0 = work[_X0 + lane]
        potential = work[_X1 + lane] - work[_X2 + lane]
        s0 = _sigmoid(r_v0 - r * potential)
        s1 = _sigmoid(r_v0 - work[_R1 + lane] * x0)
        s2 = _sigmoid(r_v0 - work[_R2 + lane] * x0)
        work[_V0 + lane] += share * (kick0 * s0)
        work[_V1 + lane] += share * (work[_MEAN + lane] + work[_KICK1 + lane] * s1)
        work[_V2 + lane] += share * (work[_KICK2 + lane] * s2)


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _oscillate(work, x_at, v_at, z0, z1, lane, linear):  # pragma: no cover - compiled
    xx, xv, vx, vv, fxx, fvx, fvv = linear
    x, v = work[x_at + lane], work[v_at + lane]
    work[x_at + lane] = xx * x + xv * v + fxx * z0
    work[v_at + lane] = vx * x + vv * v + (fvx * z0 + fvv * z1)


@numba.njit(inline="always", **_OPTIONS)
@no_type_check
def _drift(work, z, linear0, linear1, linear2):  # pragma: no cover - compiled
    """The exact linear step of the three oscillators, with the noise in the six rows from z on.

    `linear0`, ...: of each oscillator the propagator row by row, then the lower triangle of its noise factor.
    """
    for lane in range(LANES):
        sigma = work[_SIGMA + lane]
        at = z + lane
        _oscillate(work, _X0, _V0, work[at], work[at + LANES], lane, linear0)
        _oscillate(work, _X1, _V1, sigma * work[at + 2 * LANES], sigma * work[at + 3 * LANES], lane, linear1)
        _oscillate(work, _X2, _V2, work[at + 4 * LANES], work[at + 5 * LANES], lane, linear2)


@numba.njit(nogil=True, **_OPTIONS)
@no_type_check
def run(
    work, seed, index, linear0, linear1, linear2, r, r_v0, kick0, burn, keep, gain, signals
):  # pragma: no cover - compiled
    """Simulations number index, index + 1, ... into signals [count, samples]; count <= LANES.

    work [ROWS * LANES] holds their parameters, and finite numbers for idle lanes. Sample i is taken after
    burn + i * keep steps.
    """
    count, samples = signals.shape
    k0, k1 = seed & _MASK32, (seed >> 32) & _MASK32
    recorded = np.empty(samples * LANES)
    total = np.zeros(LANES)
    sample = 0
    for step in range(burn + (samples - 1) * keep + 1):
        if step % 2 == 0:
            for j in range(3):
                _fill(work, _Z + 4 * j * LANES, index, 3 * (step // 2) + j, k0, k1)
        if step == 0:
            for lane in range(6 * LANES):
                work[_X0 + lane] = work[_Z + lane]
        elif step % 2 == 0:
            _drift(work, _Z, linear0, linear1, linear2)
        else:
            _drift(work, _Z + 6 * LANES, linear0, linear1, linear2)
        if step == burn + sample * keep:
            for lane in range(LANES):
                y = work[_X1 + lane] - work[_X2 + lane]
                recorded[sample * LANES + lane] = y
                total[lane] += y
            sample += 1
        _kick(work, r, r_v0, kick0, 0.5 if step == 0 else 1.0)
    for start in range(0, samples, 8):
        for lane in range(count):
            mean = total[lane] / samples
            for i in range(start, min(start + 8, samples)):
                signals[lane, i] = gain[lane] * (recorded[i * LANES + lane] - mean)


@numba.njit(**_OPTIONS)
@no_type_check
def streams(seed, index, out):  # pragma: no cover - compiled
    """Fills `out` [count, 4 * blocks] with the first normals of streams index, index + 1, ...; count <= LANES."""
    work = np.empty(4 * LANES)
    count, size = out.shape
    for block in range(size // 4):
        _fill(work, 0, index, block, seed & _MASK32, (seed >> 32) & _MASK32)
        for lane in range(count):
            for j in range(4):
                out[lane, 4 * block + j] = work[j * LANES + lane]

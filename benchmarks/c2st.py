"""The batched C2ST against sbibm's: speed at the study's usual size, agreement over a grid of pairs.

`run` measures the speed on one thread each, in processor time, so that other programs on the machine do not
count. `agreement` over the whole grid takes about ten minutes, nearly all of them sbibm's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.report import Row
from tallsbi.metrics.c2st import Pair, c2st

DIMENSIONS = (2, 3, 5, 7, 10)
BAR = 4.0


def _normal(rng: np.random.Generator, size: int, m: int) -> np.ndarray:
    return rng.standard_normal((size, m))


def _two_modes(rng: np.random.Generator, size: int, m: int, weight: float = 0.5) -> np.ndarray:
    """Modes at +-1.5 in every coordinate of N(0, 0.25 I)."""
    side = np.where(rng.random((size, 1)) < weight, 1.5, -1.5)
    return side + 0.5 * _normal(rng, size, m)


def _banana(rng: np.random.Generator, size: int, m: int, bend: float) -> np.ndarray:
    theta = _normal(rng, size, m)
    theta[:, 0] += bend * (theta[:, 1] ** 2 - 1)
    return theta


def _moment_matched(rng: np.random.Generator, size: int, m: int) -> np.ndarray:
    """Unimodal, with the mean and covariance of `_two_modes`."""
    return 1.5 * rng.standard_normal((size, 1)) + 0.5 * _normal(rng, size, m)


Law = Callable[[np.random.Generator, int, int], np.ndarray]

# From what no classifier can tell apart to what every one can: law of the samples, law of the reference.
KINDS: dict[str, tuple[Law, Law]] = {
    "equal": (_normal, _normal),
    "slightly shifted": (lambda rng, size, m: _normal(rng, size, m) + 0.25 / np.sqrt(m), _normal),
    "shifted": (lambda rng, size, m: _normal(rng, size, m) + 1.5 / np.sqrt(m), _normal),
    "far": (lambda rng, size, m: _normal(rng, size, m) + 8 / np.sqrt(m), _normal),
    "wider": (lambda rng, size, m: 1.3 * _normal(rng, size, m), _normal),
    "bent": (
        lambda rng, size, m: _banana(rng, size, m, 0.5),
        lambda rng, size, m: _banana(rng, size, m, 0.2),
    ),
    "uneven modes": (lambda rng, size, m: _two_modes(rng, size, m, 0.7), _two_modes),
    "modes merged": (_moment_matched, _two_modes),
}


def pair(kind: str, m: int, size: int = 1000) -> Pair:
    """Samples and reference draws of one cell of the grid; the same ones in every run."""
    samples, reference = KINDS[kind]
    rng = np.random.default_rng([m, size, *kind.encode()])
    return samples(rng, size, m).astype(np.float32), reference(rng, size, m).astype(np.float32)


def agreement(
    dimensions: Sequence[int] = DIMENSIONS, kinds: Sequence[str] = tuple(KINDS), size: int = 1000
) -> list[dict[str, object]]:
    """One row per pair: both accuracies and their difference, both processor times."""
    c2st([pair("far", dimensions[0], 200)], seed=1)  # compiles, or loads what was compiled before
    rows = []
    for m in dimensions:
        for kind in kinds:
            ours, seconds = _timed(kind, m, size, "batched")
            reference, reference_seconds = _timed(kind, m, size, "sbibm")
            rows.append(
                {
                    "m": m,
                    "kind": kind,
                    "ours": ours,
                    "sbibm": reference,
                    "difference": ours - reference,
                    "seconds": seconds,
                    "sbibm_seconds": reference_seconds,
                }
            )
    return rows


def run(rounds: int) -> list[Row]:
    """Processor seconds per comparison of two samples of 1000 in five dimensions; one round is long enough."""
    rows = agreement((5,), ("slightly shifted", "uneven modes"))
    ours = float(np.mean([row["seconds"] for row in rows]))
    reference = float(np.mean([row["sbibm_seconds"] for row in rows]))
    name = "C2ST, 1000 samples in 5-D: times faster than sbibm"
    return [Row(name, ours, reference, "s", reference / ours, BAR, at_most=False)]


def _timed(kind: str, m: int, size: int, backend: str) -> tuple[float, float]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        start = time.process_time()
        value = float(c2st([pair(kind, m, size)], seed=1, backend=backend)[0])
        return value, time.process_time() - start

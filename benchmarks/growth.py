"""How time and memory of a sampling job grow: exponents fitted to runs of a network of the paper's size.

time ~ n^a: twice the observations take 2^a times as long. An exponent in the number n of observations, S of samples, T
of steps, m of parameters or B of datasets of at most 1.05 says that nothing grows faster than the evaluations of the
network. Fixed costs of a step pull it below one at such sizes, and in m the hidden layers, which know nothing of it.
Memory is the peak of a whole process, libraries included: what a job asks of a machine. In n and S it should not grow:
an exponent of 0.1 is 15 % for four times as many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from benchmarks.report import Row, cpu_times
from benchmarks.sampling_memory import Size, peak
from tallsbi.algorithms import build
from tallsbi.algorithms.base import Problem
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore

TIME_BAR, MEMORY_BAR = 1.05, 0.1
MOST_ROUNDS = 3
# The smallest sizes at which the network is most of the work.
METHODS = {"GAUSS": Size(1, 50, 8, 4, 8), "LANGEVIN": Size(1, 50, 8, 4, 4), "JAC": Size(1, 20, 8, 4, 6)}
DIMENSIONS = (4, 8, 16)
FACTORS = (2, 4, 8)
MEMORY_SIZE = Size(datasets=2, m=5, samples=1000, observations=30)
GROWTH_FACTOR = 4  # times as many observations or samples
LETTERS = {"observations": "n", "samples": "S", "steps": "T", "m": "m", "datasets": "B"}


def run(rounds: int) -> list[Row]:
    rows = []
    for method, base in METHODS.items():
        for name in LETTERS:
            values = DIMENSIONS if name == "m" else [factor * getattr(base, name) for factor in FACTORS]
            sizes = {str(value): replace(base, **{name: value}) for value in values}
            rows.append(_time(method, name, sizes, min(rounds, MOST_ROUNDS)))
    return rows + [row for method in ("GAUSS", "JAC") for row in _memory(method)]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """a of values ~ sizes^a, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _time(method: str, name: str, sizes: Mapping[str, Size], rounds: int) -> Row:
    times = cpu_times({key: _job(method, size) for key, size in sizes.items()}, rounds)
    seconds = [times.seconds(key) for key in sizes]
    grown = exponent([float(key) for key in sizes], seconds)
    return Row(
        f"{method}: exponent of time in {LETTERS[name]}", seconds[-1], seconds[0], "s", grown, TIME_BAR
    )


def _memory(method: str) -> list[Row]:
    before, rows = peak(method, MEMORY_SIZE), []
    for name in ("observations", "samples"):
        after = peak(method, replace(MEMORY_SIZE, **{name: GROWTH_FACTOR * getattr(MEMORY_SIZE, name)}))
        what, grown = (
            f"{method}: exponent of memory in {LETTERS[name]}",
            exponent([1, GROWTH_FACTOR], [before, after]),
        )
        rows.append(Row(what, after, before, "MiB", grown, MEMORY_BAR))
    return rows


def _job(method: str, size: Size) -> Callable[[], object]:
    """A sampling job of this size, all but its imports."""
    draws = torch.Generator().manual_seed(0)
    score = NetworkScore(ScoreNetwork(Architecture(size.m, size.d), draws), NETWORK)
    x = torch.randn(size.datasets, size.observations, size.d, generator=draws)
    algorithm = build(method, size.settings(method))
    problem = Problem(score, Gaussian.standard(size.m), x)
    return partial(algorithm.sample, problem, size.samples, Noise([draws]))

"""Is importance sampling of NLE's posterior right? The same estimator and data by sbi's slice sampler."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.case import Case
from benchmarks.peers.nle import draw, draw_by_slice
from benchmarks.peers.rival import load_network


def check(
    case: Case, folder: Path, sizes: Sequence[int], samples: int, say: Callable[[str], None]
) -> list[tuple[float, float]]:
    """For every n the largest difference of means, in standard deviations of slice's draws, and of log deviations."""
    estimator, worst = load_network(folder), []
    for n in sizes:
        differences, spent = [], np.zeros(2)
        for number, x in enumerate(case.data[:, :n]):
            draws = []
            for place, sampler in enumerate((draw, draw_by_slice)):
                start = time.process_time()
                draws.append(sampler(estimator, case.prior, x, samples, number))
                spent[place] += time.process_time() - start
            ours, theirs = draws
            mean = np.abs(ours.mean(0) - theirs.mean(0)) / theirs.std(0)
            spread = np.abs(np.log(ours.std(0) / theirs.std(0)))
            differences.append((mean.max(), spread.max()))
        mean, spread = (float(largest) for largest in np.max(differences, 0))
        worst.append((mean, spread))
        say(
            f"{case.task.name}, n = {n}: means differ by at most {mean:.2f} standard deviations, these by at most "
            f"{np.expm1(spread):.0%}; CPU seconds by importance {spent[0]:.0f}, by slice {spent[1]:.0f}"
        )
    return worst

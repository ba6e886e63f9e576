"""Simulations of the Jansen-Rit model with their summaries: ten seconds each, theta all over the prior.

The bar is 500 simulations per second and core. For comparison: the time numpy takes to draw as many normals
as the simulations need, without doing anything with them. The last row compares wall-clock times, which
other work on the machine distorts: of each the fastest counts.
"""

from __future__ import annotations

import os
import time

import numpy as np

from benchmarks.report import Row, cpu_times
from tallsbi.study.tasks.jrnmm.simulator import PUBLISHED, simulate_summaries

BAR = 500.0
COUNT, BLOCK = 512, 64


def run(rounds: int) -> list[Row]:
    rng = np.random.default_rng(0)
    theta = rng.uniform([10, 50, 0, -20], [250, 500, 5000, 20], (COUNT, 4))
    draws = np.random.Generator(np.random.SFC64(0))
    normals = np.empty((BLOCK, PUBLISHED.steps + 1, 6))

    def numpys_normals() -> None:
        for _ in range(COUNT // BLOCK):
            draws.standard_normal(out=normals)

    def ours() -> None:
        simulate_summaries(theta, 0)

    times = cpu_times({"ours": ours, "normals": numpys_normals}, rounds)
    rate = COUNT / times.seconds("ours")
    rows = [
        Row("JRNMM simulations with summary / bar, per core", rate, BAR, "1/s", rate / BAR, 1.0, False),
        Row(
            "JRNMM simulation with summary / numpy's normals for it",
            times.seconds("ours") / COUNT,
            times.seconds("normals") / COUNT,
            "s",
            times.ratio("ours", "normals"),
        ),
    ]
    cores = os.cpu_count() or 1
    if cores > 1:
        rows.append(_scaling(theta, cores, rounds))
    return rows


def _scaling(theta: np.ndarray, cores: int, rounds: int) -> Row:
    """How many times faster all cores are than one."""
    theta = np.resize(theta, (128 * cores, 4))  # some blocks for every core
    times = cpu_times(
        {
            "one": lambda: simulate_summaries(theta, 0),
            "all": lambda: simulate_summaries(theta, 0, threads=cores),
        },
        10 * rounds,  # short and many: one of them finds all cores free
        clock=time.perf_counter,
    )
    one, all_ = (len(theta) / min(times.rounds[name]) for name in ("one", "all"))
    return Row(
        f"JRNMM simulations: speed-up by {cores} cores", all_, one, "1/s", all_ / one, 0.85 * cores, False
    )

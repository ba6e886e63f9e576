"""Our reference posteriors for sbibm's observations against those it ships: `python -m tallsbi.study.references`.

Ten observations of each task that both have, n = 1, 1,000 draws each, compared by C2ST, which is 0.5 if a classifier
cannot tell them apart. The mean over the observations of a task should be at most 0.53.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks.base import Task

TASKS = ("slcp", "two_moons", "bernoulli_glm", "bernoulli_glm_raw", "sir", "lotka_volterra")
MAX_MEAN_C2ST = 0.53
SETTINGS = ChainSettings(
    chains=4, warmup=500, draws=2500, target_accept=0.9, max_rhat=1.01, min_ess=1000, retries=2
)


@dataclass(frozen=True)
class Agreement:
    """How a reference posterior of this package compares with the one that sbibm ships."""

    observation: int
    c2st: float
    """0.5 if a classifier cannot tell them apart."""
    ks: float
    """Largest Kolmogorov-Smirnov distance among the marginals."""
    certified: bool


def check_against_sbibm(
    name: str,
    observations: Sequence[int] = range(1, 11),
    *,
    settings: ChainSettings,
    samples: int = 1000,
    seed: int = 1,
    progress: Callable[..., Iterable[Any]],
) -> list[Agreement]:
    """Our reference draws for sbibm's observations (n = 1) against as many of those it ships."""
    from scipy.stats import ks_2samp

    from tallsbi.metrics.c2st import c2st
    from tallsbi.study.tasks import load

    task = load(name)
    shipped = [_shipped(name, number, task) for number in observations]
    data = reference_posterior(
        task, np.stack([x for x, _ in shipped])[:, None], 1, samples, settings, seed, progress
    )
    pairs = [
        # As many as ours, evenly out of all: some of them are Markov chains.
        (ours, theirs[np.linspace(0, len(theirs) - 1, samples).astype(int)])
        for ours, (_, theirs) in zip(data.theta.values, shipped, strict=True)
    ]
    return [
        Agreement(number, float(value), float(ks_2samp(*pair).statistic.max()), bool(passed))
        for number, value, passed, pair in zip(
            observations, c2st(pairs, seed=1), data.passed.values, pairs, strict=True
        )
    ]


def _shipped(name: str, number: int, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """sbibm's observation [d] and reference draws [R, m], read from its files: some of its tasks need Julia."""
    import pandas as pd
    import sbibm

    folder = Path(sbibm.__file__).parent / "tasks" / name.removesuffix("_raw") / "files"
    if not folder.exists():
        raise ValueError(
            f"sbibm ships no reference posterior for {name!r}: it has no folder {folder.parent.name!r}."
        )
    raw = "_raw" if name.endswith("_raw") else ""
    files = folder / f"num_observation_{number}"
    x = pd.read_csv(files / f"observation{raw}.csv").to_numpy(np.float64)[0]
    theta = pd.read_csv(files / "reference_posterior_samples.csv.bz2").to_numpy(np.float64)
    if (len(x), theta.shape[1]) != (task.dim_x, task.dim_theta):
        raise ValueError(
            f"{name}: sbibm's observation {number} has shape {x.shape} and its draws {theta.shape}; expected "
            f"d = {task.dim_x} and m = {task.dim_theta}."
        )
    return x, theta


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tallsbi.study.references", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"default: {' '.join(TASKS)}")
    tasks = parser.parse_args().tasks or TASKS
    unknown = sorted(set(tasks) - set(TASKS))
    if unknown:
        parser.error(f"sbibm ships nothing to compare for {', '.join(unknown)}; there are {', '.join(TASKS)}")
    logging.basicConfig(format="%(message)s")
    print(f"{'task':18} {'mean C2ST':>9} {'largest':>8} {'certified':>10}")
    disagreeing = 0
    for task in tasks:
        agreements = check_against_sbibm(task, settings=SETTINGS, progress=lambda items, **_: items)
        values = [agreement.c2st for agreement in agreements]
        disagreeing += np.mean(values) > MAX_MEAN_C2ST
        certified = f"{sum(agreement.certified for agreement in agreements)} of {len(agreements)}"
        print(f"{task:18} {np.mean(values):9.3f} {max(values):8.3f} {certified:>10}", flush=True)
    return int(disagreeing > 0)

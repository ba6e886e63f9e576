"""Plain and clipped draws in one pass, against the plain run alone: GAUSS and LANGEVIN on LV and SIR at n = 30.

The networks are small ones, trained here; LANGEVIN diverges with them, so that nearly all its samples fork. Two runs
would have a ratio of 2. The share is that of forked samples among the evaluations, without joining them again
(`reference`) and with it (`ours`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from benchmarks.report import Row, cpu_times
from tallsbi.algorithms import build
from tallsbi.algorithms.shared.composed import ComposedAlgorithm
from tallsbi.api.engine import NetworkEngine
from tallsbi.samplers import one_pass
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK
from tallsbi.study.stages.simulate import observations, simulations
from tallsbi.study.tasks import load
from tallsbi.training.loop import train
from tallsbi.training.settings import TrainingSettings

TASKS = {"lotka_volterra": "LV", "sir": "SIR"}
SETS, SAMPLES, OBSERVATIONS, CLIP, SEED = 2, 10, 30, 3.0, 1
SIMULATIONS, EPOCHS = 3000, 30
METHODS = {
    "GAUSS": ({"steps": 100, "covariances": "published", "cov_steps": 10, "cov_samples": SAMPLES}, 1.35),
    "LANGEVIN": ({"steps": 60}, 1.6),
}
MOST_ROUNDS = 2  # a round takes seconds


def run(rounds: int) -> list[Row]:
    return [row for task in TASKS for row in _rows(task, min(rounds, MOST_ROUNDS))]


def _rows(name: str, rounds: int) -> list[Row]:
    task, engine = load(name), _engine(name)
    problem = engine.problem(torch.from_numpy(observations(task, SETS, OBSERVATIONS, SEED)["x"].values))
    rows = []
    for method, (settings, bar) in METHODS.items():
        plain, clipped = build(method, settings), build(f"{method}-clip", settings, clip=CLIP)
        if not isinstance(clipped, ComposedAlgorithm):
            raise TypeError(f"{method} is no composition with a sampler.")
        times = cpu_times(
            {
                "both": lambda clipped=clipped: clipped.sample_both(problem, SAMPLES, _noise()),
                "plain": lambda plain=plain: plain.sample(problem, SAMPLES, _noise()),
            },
            rounds,
        )
        what = f"{method} on {TASKS[name]}"
        seconds = times.seconds("both"), times.seconds("plain")
        rows.append(
            Row(f"{what}, plain and clipped / plain", *seconds, "s", times.ratio("both", "plain"), bar)
        )
        tall = clipped.tall(problem, SAMPLES, _noise())
        shares = []
        for rounding in (one_pass.ROUNDING, 0.0):
            with _counted() as forks:
                one_pass.run_both(clipped.sampler, tall, SAMPLES, _noise(), rounding=rounding)
            shares.append(sum(forks) / (SETS * SAMPLES * clipped.steps))
        joined, never_joined = shares
        rows.append(
            Row(
                f"{what}, share of forks / never joined",
                joined,
                never_joined,
                "",
                joined / max(never_joined, 1e-9),
            )
        )
    return rows


def _engine(name: str) -> NetworkEngine:
    task = load(name)
    data = simulations(task, SIMULATIONS, SEED)
    latent, x = task.prior.to_latent(torch.from_numpy(data.theta.values)), torch.from_numpy(data.x.values)
    settings = TrainingSettings(epochs=EPOCHS, batch_size=64, learning_rate=1e-3)
    trained = train(latent, x, settings, NETWORK, seed=SEED, log_x=task.log_x)
    return NetworkEngine(trained.saved(name), task.prior)


def _noise() -> Noise:
    return Noise([torch.Generator().manual_seed(number) for number in range(SETS)])


@contextmanager
def _counted() -> Iterator[list[int]]:
    """The number of forks in every step."""
    forks: list[int] = []
    moved = one_pass._OnePass._moved

    def counting(self: one_pass._OnePass, states: Tensor, *rest: object) -> Tensor:
        forks.append(len(states))
        return moved(self, states, *rest)

    one_pass._OnePass._moved = counting  # type: ignore[assignment,method-assign]
    try:
        yield forks
    finally:
        one_pass._OnePass._moved = moved  # type: ignore[method-assign]

"""`python -m benchmarks.tall [problem ...]`: how right the method CLT is, beside posteriors that are known.

Summaries are learnt from 20,000 simulations per problem; a thousand more, 25 of each of 40 parameters, show how far
they can be believed, as in `TallPosterior.fit`. The mean offset in posterior standard deviations, the spread as a ratio
and the root mean square z to be expected are printed for several n.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch

from benchmarks.exact_posterior import Exact
from benchmarks.problems import FIVE, MAKERS, TallProblem, problem
from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.clt import CLT
from tallsbi.api.repeats import REPEATS
from tallsbi.samplers.base import Noise
from tallsbi.scores.base import Score
from tallsbi.scores.normaliser import Normaliser
from tallsbi.summaries.likelihood import SummaryLikelihood

_REPEATS_SHARE = 0.05  # of the simulations, in addition to them
_REPEATS_SEED = 5  # added to the seed


class _NoScore(Score):
    """CLT asks for none."""

    dim = 0

    def bind(self, x: Any) -> Any:
        raise AssertionError("CLT uses no score")


def errors(draws: np.ndarray, exact: list[Exact]) -> tuple[float, float, float]:
    """Mean offset, geometric mean of the spread, and expected root mean square z, of draws [B, S, m]."""
    mean, deviation = (
        np.stack([getattr(posterior, name) for posterior in exact]) for name in ("mean", "deviation")
    )
    offset, spread = (draws.mean(1) - mean) / deviation, draws.std(1) / deviation
    expected = np.sqrt(((1 + offset**2) / spread**2).mean())
    return float(np.abs(offset).mean()), float(np.exp(np.log(spread).mean())), float(expected)


def measure(
    task: TallProblem, simulations: int, sizes: list[int], datasets: int, samples: int, seed: int
) -> str:
    theta, x = task.simulations(simulations, seed)
    latent = task.prior.to_latent(theta)
    normaliser = Normaliser.fit(latent, x, log_x=task.log_x)
    start = time.process_time()
    learnt = SummaryLikelihood.fit(normaliser.theta(latent), normaliser.x(x.double()).float(), seed)
    line = f"{task.name:16s} {time.process_time() - start:4.0f} s"
    if learnt is None:
        return f"{line}  two modes: no summaries"
    repeated, repeats = task.datasets(
        round(simulations * _REPEATS_SHARE / REPEATS), REPEATS, seed + _REPEATS_SEED
    )
    learnt = learnt.calibrated(
        normaliser.theta(task.prior.to_latent(repeated)), normaliser.x(repeats.double()).float()
    )
    line += f"  v = {learnt.variance:.4f}"
    prior = task.prior.to(dtype=torch.float64).normalised(normaliser.theta_mean, normaliser.theta_std)
    truth, data = task.datasets(datasets, max(sizes))
    for n in sizes:
        x = normaliser.x(data[:, :n].double()).float()
        tall = Problem(_NoScore(), prior.to(dtype=torch.float32), x, learnt.bind(x))
        noise = Noise([torch.Generator().manual_seed(i) for i in range(datasets)])
        draws = normaliser.latent(CLT().sample(tall, samples, noise).theta.double()).numpy()
        exact = [task.exact(truth[i], data[i, :n]) for i in range(datasets)]
        offset, spread, expected = errors(draws, exact)
        line += f"   n = {n}: {offset:.2f} / {spread:.2f} / {expected:.2f}"
    return line


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tall", description=__doc__)
    parser.add_argument("name", nargs="*", default=FIVE, help=f"of {', '.join(MAKERS)}")
    parser.add_argument("--simulations", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 100], help="n")
    parser.add_argument("--datasets", type=int, default=12)
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print("problem, CPU seconds of the summaries, and offset / spread / expected root mean square z")
    for name in options.name:
        parts = options.simulations, options.sizes, options.datasets, options.samples, options.seed
        print(measure(problem(name), *parts), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

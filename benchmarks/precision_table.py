"""What hidden products in bfloat16 change: `python -m benchmarks.precision_table` prints it for docs/precision.md.

One network per task is trained in float32. The datasets have known parameters; every method draws from them in float32
with two seeds and in bfloat16 with the first of these, so that both differences are between draws of one size:

    sW       sliced Wasserstein-2 distance of two sets of draws, in units of their standard deviation (root mean square
             over the projections); mean over the datasets
    offset   (mean of the draws - theta) / their standard deviation, root mean square over datasets and coordinates
    spread   geometric mean ratio of the standard deviations
    cover    share of the true parameters within the central 90 % of the draws
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import torch

from tallsbi.api import drawing, inputs
from tallsbi.api.engine import NetworkEngine
from tallsbi.metrics.sliced import sliced_wasserstein
from tallsbi.schedule import NETWORK
from tallsbi.scores.precision import BFLOAT16, missing
from tallsbi.study.tasks import load
from tallsbi.training.loop import train
from tallsbi.training.settings import TrainingSettings

TASKS, N_OBS = ("slcp", "lotka_volterra", "sir"), (8, 30)
METHODS = {
    "GAUSS": {"steps": 150, "cov_samples": 200},
    "GAUSS_PD": {"steps": 50, "cov_samples": 200},
    "LANGEVIN": {"steps": 100},
    "JAC-clip": {"steps": 60},
}
HEADER = [
    "task", "n", "method", "sW seeds", "sW bfloat16", "offset", "seed", "bfloat16", "spread seeds",
    "spread bfloat16", "cover", "seed", "bfloat16",
]  # fmt: skip
_PROJECTIONS = 100


def trained(name: str, simulations: int, epochs: int, width: int) -> NetworkEngine:
    task = load(name)
    theta = torch.from_numpy(task.training_parameters(simulations, 1)).float()
    x = torch.from_numpy(task.simulations(theta.numpy(), 1, "simulations")).float()
    settings = TrainingSettings(
        learning_rate=1e-3, epochs=epochs, hidden=(width,) * 3, ema_decay=0.99, validate_every=10
    )
    run = train(task.prior.to_latent(theta), x, settings, NETWORK, seed=1, log_x=task.log_x)
    return NetworkEngine(run.saved(name), task.prior)


def rows(name: str, engine: NetworkEngine, datasets: int, samples: int) -> list[list[str]]:
    task = load(name)
    theta = torch.from_numpy(task.prior_draws(datasets, 1, "precision")).float()
    truth = task.prior.to_latent(theta).double().numpy()
    observed = torch.from_numpy(task.observations(theta.numpy(), max(N_OBS), 1, "precision")).float()
    lines = []
    for n in N_OBS:
        for method, settings in METHODS.items():
            algorithm = inputs.algorithm(method, settings, 3.0)

            def latent(
                engine: NetworkEngine, seed: int, n: int = n, a=algorithm, m: str = method
            ) -> np.ndarray:
                drawn = drawing.draw(engine, a, m, observed[:, :n], samples, seed, False)
                return task.prior.to_latent(drawn).numpy()

            first, second = latent(engine, 1), latent(engine, 2)
            reduced = latent(replace(engine, precision=BFLOAT16), 1)
            lines.append([name, str(n), method, *compared(truth, first, second, reduced)])
    return lines


def compared(truth: np.ndarray, first: np.ndarray, second: np.ndarray, reduced: np.ndarray) -> list[str]:
    """The cells of one line, over the datasets whose draws are finite in all three."""
    kept = np.all([np.isfinite(draws).all((1, 2)) for draws in (first, second, reduced)], axis=0)
    if not kept.any():
        return ["-"] * (len(HEADER) - 3)
    truth, first, second, reduced = (values[kept] for values in (truth, first, second, reduced))

    def distance(other: np.ndarray) -> float:
        scale = first.std(1, keepdims=True)
        pairs = zip(first / scale, other / scale, strict=True)
        return float(np.mean([sliced_wasserstein(a, b, _PROJECTIONS, 1)[0] for a, b in pairs]))

    def offset(draws: np.ndarray) -> float:
        return float(np.sqrt(np.mean(((draws.mean(1) - truth) / draws.std(1)) ** 2)))

    def spread(draws: np.ndarray) -> float:
        return float(np.exp(np.mean(np.log(draws.std(1) / first.std(1)))))

    def cover(draws: np.ndarray) -> float:
        low, high = np.quantile(draws, [0.05, 0.95], axis=1)
        return float(np.mean((truth >= low) & (truth <= high)))

    return [
        *(f"{distance(draws):.2f}" for draws in (second, reduced)),
        *(f"{offset(draws):.2f}" for draws in (first, second, reduced)),
        *(f"{spread(draws):.3f}" for draws in (second, reduced)),
        *(f"{cover(draws):.2f}" for draws in (first, second, reduced)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision_table", description=__doc__)
    for option, value in (
        ("simulations", 10_000),
        ("epochs", 200),
        ("width", 128),
        ("datasets", 8),
        ("samples", 80),
    ):
        parser.add_argument(f"--{option}", type=int, default=value)
    options = parser.parse_args()
    if reason := missing("cpu"):
        print(f"skipped: {reason}", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UserWarning)
    print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER), flush=True)
    for name in TASKS:
        start = time.process_time()
        engine = trained(name, options.simulations, options.epochs, options.width)
        between = time.process_time()
        for line in rows(name, engine, options.datasets, options.samples):
            print("| " + " | ".join(line) + " |", flush=True)
        spent = between - start, time.process_time() - between
        print(f"{name}: {spent[0]:.0f} s of training, {spent[1]:.0f} s of draws", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

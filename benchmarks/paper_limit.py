"""The paper's sizes: what they are projected to take, over what their matrix products alone would take.

The jobs are those of `make plan SCALE=paper`, their rows those of the cost model. A row cannot cost less than the
products of its two hidden layers, a row of JAC 1 + m times and a row of a training three times as much. What a row does
cost is measured here, at the paper's size (S = 1000, n = 30, m = 5). Jobs without a network (references, metrics,
simulations, figures) and the start of every job add the seconds of the cost table, scaled to this machine by GAUSS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from benchmarks.report import Row, cpu_times
from benchmarks.tall_score import OBSERVATIONS, SAMPLES, D, M, hidden_products
from tallsbi.algorithms import build
from tallsbi.algorithms.base import Problem
from tallsbi.priors.gaussian import Gaussian
from tallsbi.runner.costs import TABLE, CostModel, read_model
from tallsbi.runner.plan import PlannedJob, planned_jobs
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore

ROOT = Path(__file__).parents[1]
BAR = 1.3
MOST_ROUNDS = 3
# Steps and samples of the runs that are timed; JAC's rows cost more, so that fewer are enough.
RUNS = {
    "GAUSS": (2, SAMPLES),
    "LANGEVIN": (1, SAMPLES),
    "DET_GEF": (2, SAMPLES),
    "TAMED": (1, SAMPLES),
    "JAC": (1, 200),
}
TRAINING_PASSES = 3  # passes of a row through the hidden layers: forward, errors, weights
SWITCH_OVER = 0.5  # JAC with a uniform prior leaves its Jacobians out where sqrt(alpha) is at most this


def run(rounds: int) -> list[Row]:
    product, costs = _costs(min(rounds, MOST_ROUNDS))
    jobs, model = planned_jobs(ROOT, ["scale=paper"]), read_model(ROOT / TABLE)
    seconds, limit = _projection(jobs, model, product, costs)
    rows = [
        Row(f"{name}: a row at the paper's size / its matrix products", cost, product, "s", cost / product)
        for name, cost in costs.items()
    ]
    for part in limit:
        hours = seconds[part] / 3600, limit[part] / 3600
        rows.append(Row(f"the paper's {part} / its matrix products", *hours, "h", hours[0] / hours[1]))
    total, least = sum(seconds.values()) / 3600, sum(limit.values()) / 3600
    return [*rows, Row("the paper's core-hours / its matrix products", total, least, "h", total / least, BAR)]


def _costs(rounds: int) -> tuple[float, dict[str, float]]:
    """CPU seconds of the products of a row, and of a row of each method and of training, in units of such products."""
    from benchmarks import training_epoch

    products = hidden_products(torch.Generator().manual_seed(0))
    contestants: dict[str, Callable[[], object]] = {"products": products}
    rows = {}
    for name, (steps, samples) in RUNS.items():
        contestants[name], rows[name] = _sampling(name, steps, samples)
    times = cpu_times(contestants, rounds)
    product = times.seconds("products") / (SAMPLES * OBSERVATIONS)
    costs = {
        name: product * times.ratio(name, "products") * SAMPLES * OBSERVATIONS / rows[name] for name in RUNS
    }
    (training,) = [row for row in training_epoch.run(3 * rounds) if "ours / its" in row.name]
    return product, {**costs, "training": product * training.ratio}


def _sampling(name: str, steps: int, samples: int) -> tuple[Callable[[], object], float]:
    """A run of the method, and how many rows of products it has."""
    draws = torch.Generator().manual_seed(0)
    network = ScoreNetwork(Architecture(M, D), draws)
    x = torch.randn(1, OBSERVATIONS, D, generator=draws)
    problem = Problem(NetworkScore(network, NETWORK), Gaussian.standard(M), x)
    few = {"covariances": "published", "cov_steps": 1, "cov_samples": samples} if name == "GAUSS" else {}
    algorithm = build(name, {"steps": steps, **few})
    passes = algorithm.score_evaluations * _columns(name, M, 1.0)
    return lambda: algorithm.sample(problem, samples, Noise([draws])), samples * OBSERVATIONS * passes


def _columns(method: str, m: int, share: float) -> float:
    """Columns that go through the products for a row: its value, and for a share of the times its m derivatives."""
    return 1 + m * share if method == "JAC" else 1.0


def _projection(
    jobs: Sequence[PlannedJob], model: CostModel, product: float, costs: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of the jobs and of their products, by part."""
    dimensions = _dimensions()
    seconds: dict[str, float] = defaultdict(float)
    limit: dict[str, float] = defaultdict(float)
    over_table: list[float] = []  # cost of a row here over that in the cost table
    for job in jobs:
        name, *rest = job.key.split("/")
        if name in ("train", "train_guidance", "train_partial"):
            part, cost, columns = "training", costs["training"], float(TRAINING_PASSES)
        elif name in ("sample", "sample_calibration") and rest[0] in costs:
            m, uniform = dimensions[rest[1]]
            part, cost, columns = rest[0], costs[rest[0]], _columns(rest[0], m, _share(uniform))
        elif name in ("sample_guidance", "sample_partial", "time_steps", "time_many", "sample_single"):
            part, cost, columns = "other draws", costs["GAUSS"], 1.0
        else:
            seconds["rest"] += model.seconds(job.key, job.work)
            continue
        seconds["rest"] += model.rate(job.key).overhead
        seconds[part] += 1000 * job.work * columns * cost
        limit[part] += 1000 * job.work * columns * product
        if part == "GAUSS":
            over_table.append(1000 * job.work * costs["GAUSS"] / (model.rate(job.key).per_unit * job.work))
    seconds["rest"] *= sum(over_table) / len(over_table)
    return seconds, limit


def _dimensions() -> dict[str, tuple[int, bool]]:
    """Parameters of each problem, and whether its prior is uniform."""
    from tallsbi.study.tasks import has_uniform_prior, load, names

    tasks = {name: (load(name).prior.dim, has_uniform_prior(name)) for name in names()}
    return {**tasks, "3d": (3, True), "4d": (4, True)}


def _share(uniform: bool) -> float:
    """Of a uniform grid of times, those at which JAC needs Jacobians."""
    if not uniform:
        return 1.0
    grid = [(i + 1) / 1000 for i in range(1000)]
    return sum(NETWORK.sqrt_alpha(t) > SWITCH_OVER for t in grid) / len(grid)

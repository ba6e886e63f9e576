"""`python -m benchmarks.refined FOLDER`: offset and spread of refined posteriors against exact ones.

Five problems (`--problem`: some), ten datasets each with parameters of the prior, n = 100, 20,000 simulations to train
on and 20,000 to refine with. Exact posteriors come from the known likelihood by importance sampling. Every refinement
is a line of FOLDER/refined.csv as soon as it is done, and a run that was interrupted goes on from there.
`--set refine._WIDTH=4` tries another constant of a module of `tallsbi.api`; give that a folder of its own.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tallsbi import TallPosterior
from tallsbi.api.local_likelihood import Weighted, integrated
from tallsbi.api.refined import latent_prior
from tallsbi.priors.base import Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.random import integer_seed, numpy_generator, torch_generator

N_OBS, SIMULATIONS, FEWEST_EFFECTIVE = 100, 20_000, 1000
METHOD = "GAUSS_PD"


@dataclass(frozen=True)
class Problem:
    """`simulate`: theta [N, m] -> x [N, d]; `log_likelihood`: of n observations, for theta [K, m] -> [K]."""

    prior: Prior
    simulate: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    log_likelihood: Callable[[np.ndarray, np.ndarray], np.ndarray]
    log_x: bool = False


def gaussian() -> Problem:
    """Location with correlated noise."""
    factor = np.array([[1.0, 0.0], [0.6, 0.8]])

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        z = np.linalg.solve(factor, (x[None] - theta[:, None]).reshape(-1, 2).T)
        return -0.5 * np.square(z).sum(0).reshape(len(theta), -1).sum(1)

    return Problem(
        Gaussian.standard(2),
        lambda theta, rng: theta + rng.standard_normal(theta.shape) @ factor.T,
        log_likelihood,
    )


def counts() -> Problem:
    """Negative binomial counts: logarithms of mean and size."""
    from scipy.stats import nbinom

    def laws(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, size = np.exp(1.5 + 0.7 * theta[:, 0]), np.exp(1.0 + 0.5 * theta[:, 1])
        return size, size / (size + mean)

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        values, times = np.unique(x, return_counts=True)
        size, share = laws(theta)
        return nbinom.logpmf(values[None], size[:, None], share[:, None]) @ times

    def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.negative_binomial(*laws(theta)).astype(float)[:, None]

    return Problem(Gaussian.standard(2), simulate, log_likelihood)


def of_the_study(name: str) -> Problem:
    import jax

    from tallsbi.study.tasks import load
    from tallsbi.study.tasks.base import use_float64

    use_float64()
    task = load(name)
    compiled = jax.jit(jax.vmap(task.log_likelihood, in_axes=(0, None)))
    return Problem(task.prior, task.simulate, lambda theta, x: np.asarray(compiled(theta, x)), task.log_x)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "gaussian_2d": gaussian,
    "counts": counts,
    **{name: lambda name=name: of_the_study(name) for name in ("sir", "lotka_volterra", "bernoulli_glm")},  # type: ignore[misc]
}


def simulator(problem: Problem, seed: int) -> Callable[[Tensor], Tensor]:
    rng = np.random.default_rng(seed)
    return lambda theta: torch.from_numpy(problem.simulate(theta.double().numpy(), rng)).float()


def exact(problem: Problem, x: np.ndarray, near: Tensor, seed: int) -> Weighted:
    """In latent space, by importance sampling that starts at the true parameter."""
    prior = latent_prior(problem.prior)

    def target(theta: Tensor) -> Tensor:
        parameters = problem.prior.to_parameter(theta).double().numpy()
        return torch.from_numpy(problem.log_likelihood(parameters, x)).double() + prior.log_prob(theta)

    start = prior.covariance()[0].double() / len(x)
    generator = torch_generator(seed, "benchmark", "exact")
    weighted = integrated(target, near, start, generator, size=6000, rounds=12)
    if weighted.ess < FEWEST_EFFECTIVE:
        warnings.warn(f"exact posterior: {weighted.ess:.0f} effective draws", stacklevel=2)
    return weighted


def fitted(name: str, problem: Problem, folder: Path) -> TallPosterior:
    if not (folder / name).is_dir():
        TallPosterior.fit(
            problem.prior, simulator(problem, 1), simulations=SIMULATIONS, epochs=40, batch_size=256,
            early_stopping=False, log_x=problem.log_x, summaries=False, horizon=0, progress=False,
        ).save(folder / name)  # fmt: skip
    return TallPosterior.load(folder / name)


def measured(name: str, problem: Problem, posterior: TallPosterior, number: int) -> dict[str, Any]:
    """One dataset: offset (mean and largest over coordinates) and spread, before and after."""
    truth = problem.prior.sample(number + 1, torch_generator(0, "benchmark", "theta", name))[-1:].double()
    x = problem.simulate(truth.repeat(N_OBS, 1).numpy(), numpy_generator(0, "benchmark", name, number))
    latent = problem.prior.to_latent
    reference = exact(problem, x, latent(truth)[0].double(), number)
    started = time.process_time()
    refined = posterior.refine(
        x, simulator(problem, integer_seed(number, name)), SIMULATIONS, method=METHOD, seed=number
    )
    seconds = time.process_time() - started
    draws = {"before": posterior.sample(x, 500, METHOD, progress=False), "after": refined.sample(4000)}
    report = refined.report
    row = {
        "problem": name, "dataset": number, "outcome": report.outcome, "simulations": report.simulations,
        "widening": report.widening, "z_after": report.z_after, "seconds": seconds, "exact_ess": reference.ess,
    }  # fmt: skip
    for state, theta in draws.items():
        theta = latent(theta).double()
        offset = (theta.mean(0) - reference.mean).abs() / reference.std
        spread = (theta.std(0) / reference.std).log().mean().exp()
        row |= {
            f"offset_{state}": float(offset.mean()),
            f"largest_{state}": float(offset.max()),
            f"spread_{state}": float(spread),
        }
    return row


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Medians over datasets, and how refinements ended."""
    columns = [f"{name}_{state}" for name in ("offset", "spread") for state in ("before", "after")]
    table = frame.groupby("problem", sort=False)[[*columns, "seconds"]].median()
    table["largest_offset"] = frame.groupby("problem").offset_after.max()
    ended = frame.groupby(["problem", "outcome"]).size().unstack(fill_value=0)
    return table.join(ended).assign(datasets=frame.groupby("problem").size())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--problem", nargs="*", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--networks", type=Path, help="the folder of trained networks (default: FOLDER)")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="MODULE.NAME=VALUE", help="constants of tallsbi.api"
    )
    options = parser.parse_args()
    for change in options.set:
        name, value = change.split("=")
        module, constant = name.split(".")
        setattr(importlib.import_module(f"tallsbi.api.{module}"), constant, eval(value, {"math": math}))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    options.folder.mkdir(parents=True, exist_ok=True)
    path, problems = options.folder / "refined.csv", {name: PROBLEMS[name]() for name in options.problem}
    rows = pd.read_csv(path).to_dict("records") if path.is_file() else []
    for number in range(options.datasets):
        for name, problem in problems.items():
            if any((row["problem"], row["dataset"]) == (name, number) for row in rows):
                continue
            posterior = fitted(name, problem, options.networks or options.folder)
            rows.append(measured(name, problem, posterior, number))
            pd.DataFrame(rows).to_csv(path, index=False)
            print(
                {key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True
            )
    print(summary(pd.DataFrame(rows)).round(2).to_string())


if __name__ == "__main__":
    main()

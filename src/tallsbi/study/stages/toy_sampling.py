"""Runs an algorithm on the toy problems and packs the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tallsbi.algorithms import configured
from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.random import torch_generator
from tallsbi.samplers.base import Noise, Samples
from tallsbi.scores.perturbed import Perturbation, PerturbedScore
from tallsbi.study.tasks.toy import Toy, make_toy

if TYPE_CHECKING:
    import xarray as xr


def posterior_problem(toy: Toy, n: int, eps: float, dtype: torch.dtype, device: str = "cpu") -> Problem:
    """The first n observations of a toy problem, explained with a score that is off by eps."""
    net = Perturbation(*(part.to(dtype=dtype, device=device) for part in vars(toy.perturbation).values()))
    score = PerturbedScore(toy.score(dtype, device), net, eps)
    x = toy.x[:, :n].to(dtype=dtype, device=device)
    return Problem(score, toy.prior.to(dtype=dtype, device=device), x)


def run(
    toy: Toy,
    algorithm: Algorithm,
    name: str,
    n: int,
    eps: float,
    samples: int,
    seed: int,
    dtype: str,
    device: str,
) -> Samples:
    """One cell of the toy study: all seeds at one n and one noise level.

    The random stream of a seed does not depend on the noise level: differences between noise levels are
    then due to the noise.
    """
    precision = getattr(torch, dtype)
    problem = posterior_problem(toy, n, eps, precision, device)
    generators = [
        torch_generator(seed, "toy", toy.name, problem.score.dim, i, name, algorithm.steps, n, device=device)
        for i in range(problem.datasets)
    ]
    return algorithm.sample(problem, samples, Noise(generators, precision))


def sample_cells(
    problem: str,
    dim: int,
    eps: float,
    method: str,
    n_obs: Sequence[int],
    settings: Mapping[str, Any],
    progress: Callable = iter,
) -> xr.Dataset:
    """Draws of one method for every n and every seed, with the health of each run."""
    import xarray as xr

    toy_settings, seed = settings["toy"], settings["seed"]
    toy = make_toy(problem, dim, toy_settings["seeds"], max(n_obs), toy_settings, seed)
    algorithm = configured(method, settings["method"], settings)
    results = [
        run(
            toy,
            algorithm,
            method,
            n,
            eps,
            toy_settings["samples"],
            seed,
            settings["dtype"],
            settings["device"],
        )
        for n in progress(n_obs)
    ]
    health = {
        key: (("n", "seed"), np.stack([getattr(result.health, key).numpy() for result in results]))
        for key in vars(results[0].health)
    }
    theta = np.stack([result.theta.cpu().numpy() for result in results])
    return xr.Dataset(
        {"theta": (("n", "seed", "sample", "parameter"), theta), **health},
        coords={"n": list(n_obs), "seed": np.arange(toy_settings["seeds"])},
        attrs={
            "problem": problem,
            "m": dim,
            "noise": eps,
            "method": method,
            "steps": algorithm.steps,
            "score_evaluations": algorithm.score_evaluations,
        },
    )

"""Samples the tall posteriors of a task with a trained network, all parameter sets in one call per n."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tallsbi.algorithms import configured
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import torch_generator
from tallsbi.samplers.ddim import DDIM
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.tasks import load

if TYPE_CHECKING:
    import xarray as xr


def sample_task(
    name: str,
    method: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    n_obs: Sequence[int],
    n_train: int,
    settings: Mapping[str, Any],
    progress: Callable = iter,
    learned_prior: bool = False,
) -> xr.Dataset:
    """Draws [n, set, sample, parameter] of one method, in the parameter's own space, with their health.

    `learned_prior`: with the network's own prior score and covariance (GAUSS only, which says how to get it).
    """
    import xarray as xr

    task, seed, samples = load(name), settings["seed"], settings["sbibm"]["samples"]
    sets, x = observations["set"].values, torch.from_numpy(observations["x"].values)
    device = settings["device"]
    posterior = NetworkEngine.configured(saved, task.prior, settings)
    algorithm = configured(method, settings["method"], settings)
    if learned_prior:
        runner = DDIM(steps=algorithm.cov_steps, eta=algorithm.cov_eta)
        stream = torch_generator(seed, "sbibm", name, n_train, method, "prior", device=device)
        posterior = posterior.with_learned_prior(runner, algorithm.cov_samples, stream)
    draws, health = [], []
    for n in progress(n_obs):
        names = [(seed, "sbibm", name, n_train, method, int(n), int(b)) for b in sets]
        generators = [torch_generator(*one, device=device) for one in names]
        run = posterior.sample(algorithm, x[:, :n], samples, generators)
        draws.append(run.theta.numpy())
        health.append(run.health)
    return xr.Dataset(
        {
            "theta": (("n", "set", "sample", "parameter"), np.stack(draws)),
            **{
                key: (("n", "set"), np.stack([getattr(one, key).numpy() for one in health]))
                for key in vars(health[0])
            },
        },
        coords={"n": list(n_obs), "set": sets, "parameter": list(task.parameter_names)},
        attrs={
            "task": name,
            "method": method,
            "n_train": n_train,
            "steps": algorithm.steps,
            "score_evaluations": algorithm.score_evaluations,
        },
    )

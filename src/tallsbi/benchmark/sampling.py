"""Samples the tall posteriors of a task with a trained network.

The network, the diffusion and the prior live in the normalised latent space; observations go in and samples
come out in their own. All parameter sets are solved in one call per n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tallsbi.algorithms import configured
from tallsbi.algorithms.base import Problem
from tallsbi.priors import Prior, Uniform
from tallsbi.samplers import Noise
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.seeds import torch_generator
from tallsbi.tasks import load

if TYPE_CHECKING:
    import xarray as xr


def sampling_prior(prior: Prior, saved: SavedNetwork, bounds_factor: float) -> Prior:
    """The prior in normalised space; the bounds of a uniform one times `bounds_factor` (published: 2)."""
    normaliser = saved.normaliser
    dtype = next(saved.network.parameters()).dtype
    normalised = prior.to(dtype=torch.float64).normalised(normaliser.theta_mean, normaliser.theta_std)
    if isinstance(normalised, Uniform):
        normalised = normalised.widened(bounds_factor)
    return normalised.to(dtype=dtype)


def sample_task(
    name: str,
    method: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    n_obs: Sequence[int],
    n_train: int,
    settings: Mapping[str, Any],
    progress: Callable = iter,
) -> xr.Dataset:
    """Draws [n, set, sample, parameter] of one method, in the parameter's own space, with their health."""
    import xarray as xr

    task, seed, samples = load(name), settings["seed"], settings["sbibm"]["samples"]
    sets = observations["set"].values
    prior = sampling_prior(task.prior, saved, settings["fidelity"]["uniform_bounds_factor"])
    dtype = next(saved.network.parameters()).dtype
    x = saved.normaliser.x(torch.from_numpy(observations["x"].values)).to(dtype)
    algorithm = configured(method, settings["method"], settings)
    draws, health = [], []
    for n in progress(n_obs):
        generators = [torch_generator(seed, "sbibm", name, n_train, method, int(n), int(b)) for b in sets]
        run = algorithm.sample(Problem(saved.score(), prior, x[:, :n]), samples, Noise(generators, dtype))
        latent = saved.normaliser.latent(run.theta.double())
        draws.append(task.prior.to_parameter(latent).numpy())
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

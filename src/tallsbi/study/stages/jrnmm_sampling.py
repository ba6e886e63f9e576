"""Draws of the Jansen-Rit posteriors: for the observations of the true parameter, and for calibration pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tallsbi.algorithms import configured
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import torch_generator
from tallsbi.samplers.base import Samples
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.stages.jrnmm_data import prior

if TYPE_CHECKING:
    import xarray as xr

_TOGETHER = 500  # calibration pairs solved in one call


def tall_draws(
    method: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    n_obs: Sequence[int],
    samples: int,
    settings: Mapping[str, Any],
    progress: Callable = iter,
) -> xr.Dataset:
    """Draws [n, sample, parameter] given the first n observations, with the health of each run."""
    x = torch.from_numpy(observations["x"].values)
    posterior, algorithm, dim = _start(method, saved, observations, settings)
    runs = []
    for n in progress(n_obs):
        name = ("jrnmm", dim, method, "tall", int(n))
        runs.append(posterior.sample(algorithm, x[None, :n], samples, _streams([name], settings)))
    return _dataset(runs, "n", list(n_obs), observations, method, algorithm.steps)


def single_draws(
    method: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    samples: int,
    settings: Mapping[str, Any],
) -> xr.Dataset:
    """Draws [observation, sample, parameter] given each observation alone."""
    x = torch.from_numpy(observations["x"].values)
    posterior, algorithm, dim = _start(method, saved, observations, settings)
    names = [("jrnmm", dim, method, "single", i) for i in range(len(x))]
    run = posterior.sample(algorithm, x[:, None], samples, _streams(names, settings))
    each = [Samples(run.theta[i : i + 1], _one(run.health, i)) for i in range(len(x))]
    return _dataset(each, "observation", list(range(len(x))), observations, method, algorithm.steps)


def calibration_draws(
    method: str,
    saved: SavedNetwork,
    calibration: xr.Dataset,
    n_obs: Sequence[int],
    settings: Mapping[str, Any],
    progress: Callable = iter,
) -> xr.Dataset:
    """One draw [n, pair, parameter] for every calibration pair and n, many pairs per call."""
    import xarray as xr

    x, pairs = torch.from_numpy(calibration["x"].values), calibration["pair"].values
    posterior, algorithm, dim = _start(method, saved, calibration, settings)
    theta = np.empty((len(n_obs), len(x), dim))
    chunks = [(i, n, start) for i, n in enumerate(n_obs) for start in range(0, len(x), _TOGETHER)]
    for i, n, start in progress(chunks):
        part = x[start : start + _TOGETHER, :n]
        name = ("jrnmm", dim, method, "calibration", int(n), int(pairs[start]))
        run = posterior.sample(algorithm, part, 1, _streams([name], settings))
        theta[i, start : start + len(part)] = run.theta[:, 0].numpy()
    return xr.Dataset(
        {"theta": (("n", "pair", "parameter"), theta)},
        coords={"n": list(n_obs), "parameter": calibration["parameter"].values},
        attrs={"task": calibration.attrs["task"], "method": method, "steps": algorithm.steps},
    )


def _start(method: str, saved: SavedNetwork, data: xr.Dataset, settings: Mapping[str, Any]) -> tuple:
    dim = data.sizes["parameter"]
    algorithm = configured(method, settings["method"], settings)
    posterior = NetworkEngine.configured(saved, prior(dim, settings["bounds"]), settings)
    return posterior, algorithm, dim


def _streams(names: Iterable[tuple], settings: Mapping[str, Any]) -> list[torch.Generator]:
    return [torch_generator(settings["seed"], *name, device=settings["device"]) for name in names]


def _one(health: Any, index: int) -> Any:
    return type(health)(**{key: value[index : index + 1] for key, value in vars(health).items()})


def _dataset(
    runs: Sequence[Samples], axis: str, values: list, data: xr.Dataset, method: str, steps: int
) -> xr.Dataset:
    import xarray as xr

    health = {
        key: (axis, np.array([vars(run.health)[key][0].item() for run in runs]))
        for key in vars(runs[0].health)
    }
    theta = np.stack([run.theta[0].numpy() for run in runs])
    return xr.Dataset(
        {"theta": ((axis, "sample", "parameter"), theta), **health},
        coords={axis: values, "parameter": data["parameter"].values},
        attrs={"task": data.attrs["task"], "method": method, "steps": steps},
    )

"""Simulations, observations and calibration pairs of the Jansen-Rit model.

theta = (C, mu, sigma, g); the 3-D setting fixes the gain g at 0. Every simulation has a number, which names its
random stream: parameters come from the study's seed, noise from the simulation's own stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tallsbi.priors.uniform import Uniform
from tallsbi.random import integer_seed, torch_generator
from tallsbi.study.tasks.jrnmm.simulator import simulate_summaries

if TYPE_CHECKING:
    import xarray as xr

PARAMETERS = ("C", "mu", "sigma", "g")


def prior(dim: int, bounds: Mapping[str, Sequence[float]]) -> Uniform:
    """The uniform prior of the first `dim` parameters, from (low, high) by name."""
    low, high = zip(*(bounds[name] for name in PARAMETERS[:dim]), strict=True)
    return Uniform(torch.tensor(low, dtype=torch.float32), torch.tensor(high, dtype=torch.float32))


def simulations(
    dim: int, count: int, bounds: Mapping[str, Sequence[float]], seed: int, threads: int = 1
) -> xr.Dataset:
    """`count` pairs (theta, x) of the prior and the simulator."""
    import xarray as xr

    theta = _parameters(dim, count, bounds, seed, "simulations")
    x = simulate_summaries(theta, _noise(seed, dim, "simulations"), threads=threads)
    return xr.Dataset(
        {
            "theta": (("simulation", "parameter"), theta.astype(np.float32)),
            "x": (("simulation", "feature"), x.astype(np.float32)),
        },
        coords={"parameter": list(PARAMETERS[:dim])},
        attrs={"task": f"{dim}d"},
    )


def observations(dim: int, truth: Sequence[float], count: int, seed: int, threads: int = 1) -> xr.Dataset:
    """`count` observations of the true parameter."""
    import xarray as xr

    theta = np.asarray(truth, dtype=np.float64)[:dim]
    x = simulate_summaries(np.tile(theta, (count, 1)), _noise(seed, dim, "observations"), threads=threads)
    return xr.Dataset(
        {"theta": ("parameter", theta), "x": (("observation", "feature"), x)},
        coords={"parameter": list(PARAMETERS[:dim])},
        attrs={"task": f"{dim}d"},
    )


def calibration(
    dim: int, pairs: int, n: int, bounds: Mapping[str, Sequence[float]], seed: int, threads: int = 1
) -> xr.Dataset:
    """`pairs` parameters of the prior with n observations each; fewer pairs are a prefix."""
    import xarray as xr

    theta = _parameters(dim, pairs, bounds, seed, "calibration")
    x = simulate_summaries(np.repeat(theta, n, axis=0), _noise(seed, dim, "calibration"), threads=threads)
    return xr.Dataset(
        {
            "theta": (("pair", "parameter"), theta.astype(np.float32)),
            "x": (("pair", "observation", "feature"), x.reshape(pairs, n, -1).astype(np.float32)),
        },
        coords={"parameter": list(PARAMETERS[:dim])},
        attrs={"task": f"{dim}d"},
    )


def _parameters(
    dim: int, count: int, bounds: Mapping[str, Sequence[float]], seed: int, kind: str
) -> np.ndarray:
    generator = torch_generator(seed, "jrnmm", dim, kind, "theta")
    return prior(dim, bounds).sample(count, generator).double().numpy()


def _noise(seed: int, dim: int, kind: str) -> int:
    return integer_seed(seed, "jrnmm", dim, kind, "noise") % 2**63

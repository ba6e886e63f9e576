"""Parameters with observations of each: simulated here, or given and checked."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api.inputs import as_tensor, count, observations
from tallsbi.priors.base import Prior
from tallsbi.random import integer_seed, torch_generator

Simulator = Callable[[Tensor], Any]
"""Parameters [N, m] (torch, float32) in, one observation each out: [N, d], torch, numpy or lists."""


class AnotherPrior(UserWarning):
    """Parameters that were not drawn from the prior."""


def training_pairs(
    prior: Prior, source: Any, simulations: int, seed: int
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N d"]]:
    """Parameters and observations in float32, simulated or given as a pair (theta, x)."""
    if callable(source):
        theta = prior.sample(
            count(simulations, "simulations"), torch_generator(seed, "api", "parameters")
        ).float()
        return theta, simulate(source, theta, integer_seed(seed, "api", "simulator"))
    if not isinstance(source, (tuple, list)) or len(source) != 2:
        raise TypeError(
            f"the second argument is {type(source).__name__}: give a simulator, a function from theta [N, m] to "
            "x [N, d], or a pair (theta, x)."
        )
    theta, x = (as_tensor(values, name).float() for values, name in zip(source, ("theta", "x"), strict=True))
    if theta.ndim != 2 or theta.shape[1] != prior.dim:
        raise ValueError(
            f"theta has shape {tuple(theta.shape)}; the prior has {prior.dim} coordinates: give [N, {prior.dim}]."
        )
    _require_finite(theta, "theta", "rows", "leave them out together with their observations")
    outside = ~prior.log_prob(theta.double()).isfinite()
    if bool(outside.any()):
        row = int(outside.nonzero()[0])
        raise ValueError(
            f"theta: {int(outside.sum())} of {len(theta)} rows are outside the prior's support, the first is row "
            f"{row}, {theta[row].tolist()}; simulate with parameters drawn from this prior."
        )
    warn_of_another_prior(prior, theta)
    return theta, _one_each(
        x, len(theta), "x", "theta and x need the same number of rows, one observation each"
    )


def calibration_pairs(
    prior: Prior, x_dim: int, source: Any, n: int, datasets: int, seed: int
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N n d"]]:
    """Parameters and n observations of each in float64, simulated or given as a pair (theta, x)."""
    if callable(source):
        theta = prior.sample(datasets, torch_generator(seed, "api", "calibration")).float()
        repeated = theta.repeat_interleave(n, 0)
        x = simulate(source, repeated, integer_seed(seed, "api", "calibration", "simulator"))
        return theta.double(), observations(x.unflatten(0, (datasets, n)), x_dim, "x")
    if not isinstance(source, (tuple, list)) or len(source) != 2:
        raise TypeError(
            f"the first argument is {type(source).__name__}: give the simulator, or a pair (theta [N, m], "
            "x [N, n, d])."
        )
    theta, x = as_tensor(source[0], "theta").double(), observations(source[1], x_dim, "x")
    if theta.ndim != 2 or theta.shape != (len(x), prior.dim) or x.shape[1] != n:
        raise ValueError(
            f"theta has shape {tuple(theta.shape)} and x {tuple(x.shape)}; for n = {n} give "
            f"theta [N, {prior.dim}] and x [N, {n}, {x_dim}]."
        )
    return theta, x


def simulate(simulator: Simulator, theta: Float[Tensor, "N m"], seed: int) -> Float[Tensor, "N d"]:
    """One observation per row, in float32; the same for the same seed if the simulator draws globally."""
    with _global_streams(seed):
        x = simulator(theta.clone())
    return _one_each(
        as_tensor(x, "the simulator's result").float(),
        len(theta),
        "the simulator's result",
        "a simulator is called with all parameters at once; wrap one that takes a single vector as "
        "lambda theta: torch.stack([simulate(row) for row in theta])",
    )


def _one_each(x: Tensor, rows: int, name: str, hint: str) -> Float[Tensor, "N d"]:
    if x.ndim != 2 or len(x) != rows or not x.shape[1]:
        hint = "for numbers, add an axis: x[:, None]" if x.shape == (rows,) else hint
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} for {rows} parameters: expected [{rows}, d]; {hint}."
        )
    hint = "mark a failure by a finite number of its own, since leaving failures out changes the posterior"
    _require_finite(x, name, "simulations", hint)
    return x


def _require_finite(values: Float[Tensor, "N k"], name: str, what: str, remedy: str) -> None:
    finite = values.isfinite().all(1)
    if not bool(finite.all()):
        raise ValueError(
            f"{name}: {int((~finite).sum())} of {len(values)} {what} are not finite, the first is row "
            f"{int((~finite).nonzero()[0])}; {remedy}."
        )


def warn_of_another_prior(prior: Prior, theta: Float[Tensor, "N m"]) -> None:
    """Says where parameters are not spread like the prior: it is divided out n - 1 times."""
    if len(theta) < 2:
        return
    latent, mean = prior.to_latent(theta.double()), prior.latent_mean()[0]
    sd = prior.covariance()[0].diagonal().sqrt()
    given = latent.mean(0), latent.std(0)
    bar = max(6 / math.sqrt(len(latent)), 0.1)  # six standard errors of a mean, and a tenth
    wrong = (((given[0] - mean) / sd).abs() > bar) | ((given[1] / sd).log().abs() > bar)
    if bool(wrong.any()):
        k = int(wrong.nonzero()[0])
        warnings.warn(
            f"theta does not look like draws of the prior: coordinate {k} has mean {float(given[0][k]):.3g} and "
            f"standard deviation {float(given[1][k]):.3g} (in the space where the prior is Gaussian or uniform), the "
            f"prior has {float(mean[k]):.3g} and {float(sd[k]):.3g}. The prior is divided out n - 1 times: with "
            "another one than theta was drawn from, the posterior of many observations is wrong.",
            AnotherPrior,
            stacklevel=4,
        )


@contextmanager
def _global_streams(seed: int) -> Iterator[None]:
    """Seeds torch's and numpy's global random streams, and puts them back where they were."""
    state = np.random.get_state()  # noqa: NPY002 (the stream a simulator may draw from)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002

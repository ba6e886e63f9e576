"""The toy problems: a correlated Gaussian under two priors, and a Gaussian mixture (section 4.1).

    gaussian-wide      x | theta ~ N(theta, (1-rho) I + rho 11'), prior N(mean, diag(std^2)) with mean and
                       std drawn anew for every seed: what produced the paper's numbers
    gaussian-standard  the same with prior N(0, I): what the paper's text says
    mixture            x | theta ~ 1/2 N(theta, a S) + 1/2 N(theta, b S), S diagonal, prior N(0, I)

B seeds are B datasets. theta*, the observations and the perturbation network depend on (problem, m, seed)
only, so they are the same at every noise level, and the first n observations are the same for every n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.gaussian import Gaussian
from tallsbi.random import numpy_generator, torch_generator
from tallsbi.schedule import TOY
from tallsbi.scores.base import Score
from tallsbi.scores.gaussian import GaussianScore
from tallsbi.scores.mixture import MixtureScore
from tallsbi.scores.perturbed import Perturbation

PROBLEMS = ("gaussian-wide", "gaussian-standard", "mixture")


@dataclass(frozen=True)
class Toy:
    """B datasets of one toy problem, in float64: the truth, the data, and the exact model behind them."""

    name: str
    theta: Float[Tensor, "B m"]
    x: Float[Tensor, "B n m"]
    prior: Gaussian
    noise_cov: Float[Tensor, "m m"] | None
    noise_components: Float[Tensor, "2 m"] | None
    perturbation: Perturbation

    def score(self, dtype: torch.dtype, device: str = "cpu") -> Score:
        """The exact score of the single-observation posteriors."""
        if self.noise_components is not None:
            noise = self.noise_components.to(dtype=dtype, device=device)
            return MixtureScore(torch.full((2,), 0.5, dtype=dtype, device=device), noise, TOY)
        prior = self.prior.to(dtype=dtype, device=device)
        return GaussianScore(prior, self.noise_cov.to(dtype=dtype, device=device), TOY)


def make_toy(name: str, dim: int, seeds: int, n_max: int, settings: dict[str, Any], seed: int) -> Toy:
    """The datasets of `seeds` seeds, each with its own random streams; `settings` is the toy section."""
    streams = [lambda what, i=i: numpy_generator(seed, "toy", name, dim, i, what) for i in range(seeds)]
    if name == "mixture" or name == "gaussian-standard":
        mean, std = np.zeros((seeds, dim)), np.ones((seeds, dim))
    elif name == "gaussian-wide":
        width, (low, high) = settings["wide_prior"]["mean"], settings["wide_prior"]["std"]
        draws = [stream("prior").random((2, dim)) for stream in streams]
        mean = np.stack([width * (2 * u[0] - 1) for u in draws])
        std = np.stack([low + (high - low) * u[1] for u in draws])
    else:
        raise ValueError(f"Unknown toy problem {name!r}; available: {', '.join(PROBLEMS)}.")
    theta = mean + std * np.stack([stream("theta").standard_normal(dim) for stream in streams])
    if name == "mixture":
        components = mixture_components(dim, settings["mixture"])
        noise_cov = None
        residual = np.stack([_mixture_noise(stream, n_max, components) for stream in streams])
    else:
        components = None
        noise_cov = equicorrelation(dim, settings["correlation"])
        factor = np.linalg.cholesky(noise_cov)
        residual = np.stack([stream("x").standard_normal((n_max, dim)) @ factor.T for stream in streams])
    nets = [torch_generator(seed, "toy", name, dim, i, "network") for i in range(seeds)]
    return Toy(
        name=name,
        theta=torch.from_numpy(theta),
        x=torch.from_numpy(theta[:, None] + residual),
        prior=Gaussian(torch.from_numpy(mean), torch.diag_embed(torch.from_numpy(std**2))),
        noise_cov=None if noise_cov is None else torch.from_numpy(noise_cov),
        noise_components=None if components is None else torch.from_numpy(components),
        perturbation=Perturbation.random(dim, nets, torch.float64),
    )


def equicorrelation(dim: int, correlation: float) -> np.ndarray:
    """(1 - rho) I + rho 11'."""
    return (1 - correlation) * np.eye(dim) + correlation


def mixture_components(dim: int, settings: dict[str, Any]) -> np.ndarray:
    """Diagonal variances of the two components, [2, m]."""
    spread = np.linspace(*settings["spread"], dim)
    return np.array(settings["scales"])[:, None] * spread


def _mixture_noise(
    stream: Callable[[str], np.random.Generator], n: int, components: np.ndarray
) -> np.ndarray:
    second = stream("component").random(n) < 0.5
    std = np.sqrt(components)[second.astype(int)]
    return std * stream("x").standard_normal(std.shape)

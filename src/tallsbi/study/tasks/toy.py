"""The toy problems: a correlated Gaussian under two priors, and a Gaussian mixture (section 4.1).

    gaussian-wide      x | theta ~ N(theta, (1-rho) I + rho 11'), prior N(mean, diag(std^2)) with mean and
                       std drawn anew for every seed: what produced the paper's numbers
    gaussian-standard  the same with prior N(0, I): what the paper's text says
    mixture            x | theta ~ 1/2 N(theta, a S) + 1/2 N(theta, b S), S diagonal, prior N(0, I)

B seeds are B datasets. theta*, the observations and the perturbation network depend on (problem, m, seed)
only, so they are the same at every noise level, and the first n observations are the same for every n.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

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
from tallsbi.study.settings.toy import ToyCell, ToyModel
from tallsbi.study.tasks.base import Simulator

PROBLEMS = ("gaussian-wide", "gaussian-standard", "mixture")


@dataclass(frozen=True, eq=False)
class Toy(Simulator):
    """B datasets of one toy problem, in float64: the truth, the data, and the exact model behind them."""

    name: str
    theta: Float[Tensor, "B m"]
    x: Float[Tensor, "B n m"]
    prior: Gaussian
    noise_cov: Float[Tensor, "m m"] | None
    noise_components: Float[Tensor, "2 m"] | None
    perturbation: Perturbation

    @property
    def dim_x(self) -> int:
        return self.x.shape[2]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(f"theta_{i}" for i in range(1, self.theta.shape[1] + 1))

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        if self.noise_components is not None:
            return theta + mixture_noise(len(theta), self.noise_components.numpy(), rng, rng)
        return theta + gaussian_noise(len(theta), self.noise_cov.numpy(), rng)

    def score(self, dtype: torch.dtype, device: str = "cpu") -> Score:
        """The exact score of the single-observation posteriors."""
        if self.noise_components is not None:
            noise = self.noise_components.to(dtype=dtype, device=device)
            return MixtureScore(torch.full((2,), 0.5, dtype=dtype, device=device), noise, TOY)
        prior = self.prior.to(dtype=dtype, device=device)
        return GaussianScore(prior, self.noise_cov.to(dtype=dtype, device=device), TOY)


def make_toy(cell: ToyCell, n_max: int, seed: int) -> Toy:
    """The datasets of a cell, n_max observations each; every seed has random streams of its own."""
    name, dim, seeds, model = cell.problem, cell.m, cell.seeds, cell.model
    streams = [partial(numpy_generator, seed, "toy", name, dim, i) for i in range(seeds)]
    if name == "mixture" or name == "gaussian-standard":
        mean, std = np.zeros((seeds, dim)), np.ones((seeds, dim))
    elif name == "gaussian-wide":
        low, high = model.wide_std
        draws = [stream("prior").random((2, dim)) for stream in streams]
        mean = np.stack([model.wide_mean * (2 * u[0] - 1) for u in draws])
        std = np.stack([low + (high - low) * u[1] for u in draws])
    else:
        raise ValueError(f"Unknown toy problem {name!r}; available: {', '.join(PROBLEMS)}.")
    theta = mean + std * np.stack([stream("theta").standard_normal(dim) for stream in streams])
    components = mixture_components(dim, model) if name == "mixture" else None
    noise_cov = equicorrelation(dim, model.correlation) if name != "mixture" else None
    if components is None:
        noise = [gaussian_noise(n_max, noise_cov, stream("x")) for stream in streams]
    else:
        noise = [mixture_noise(n_max, components, stream("component"), stream("x")) for stream in streams]
    nets = [torch_generator(seed, "toy", name, dim, i, "network") for i in range(seeds)]
    return Toy(
        name=name,
        theta=torch.from_numpy(theta),
        x=torch.from_numpy(theta[:, None] + np.stack(noise)),
        prior=Gaussian(torch.from_numpy(mean), torch.diag_embed(torch.from_numpy(std**2))),
        noise_cov=None if noise_cov is None else torch.from_numpy(noise_cov),
        noise_components=None if components is None else torch.from_numpy(components),
        perturbation=Perturbation.random(dim, nets, torch.float64),
    )


def equicorrelation(dim: int, correlation: float) -> np.ndarray:
    """(1 - rho) I + rho 11'."""
    return (1 - correlation) * np.eye(dim) + correlation


def mixture_components(dim: int, model: ToyModel) -> np.ndarray:
    """Diagonal variances of the two components, [2, m]."""
    return np.array(model.scales)[:, None] * np.linspace(*model.spread, dim)


def gaussian_noise(n: int, cov: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, len(cov))) @ np.linalg.cholesky(cov).T


def mixture_noise(
    n: int, components: np.ndarray, chooser: np.random.Generator, rng: np.random.Generator
) -> np.ndarray:
    """n draws of the noise of the mixture; `chooser` chooses the component of each."""
    std = np.sqrt(components)[(chooser.random(n) < 0.5).astype(int)]
    return std * rng.standard_normal(std.shape)

"""Tall posteriors with a trained network: observations in, draws out, both in their own space.

The network, the diffusion and the prior live in the normalised latent space (see `tallsbi.scores.normaliser`);
this is where one goes in and comes out. All B datasets are solved in one call.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.priors import Prior, Uniform
from tallsbi.samplers import Noise
from tallsbi.samplers.base import Progress, Samples
from tallsbi.scores.network_file import SavedNetwork


def normalised_prior(prior: Prior, saved: SavedNetwork, bounds_factor: float = 1.0) -> Prior:
    """The prior as the network sees it, in float64; the bounds of a uniform one times `bounds_factor`."""
    normaliser = saved.normaliser
    normalised = prior.to(dtype=torch.float64).normalised(normaliser.theta_mean, normaliser.theta_std)
    return normalised.widened(bounds_factor) if isinstance(normalised, Uniform) else normalised


@dataclass(frozen=True, eq=False)
class TrainedPosterior:
    """A trained network and its prior. `bounds_factor` is 2 where published results are repeated, else 1."""

    saved: SavedNetwork
    prior: Prior
    bounds_factor: float = 1.0
    dtype: torch.dtype = torch.float32
    device: str = "cpu"

    def problem(self, x: Float[Tensor, "B n d"]) -> Problem:
        """What an algorithm solves, for observations in their own space."""
        place = {"dtype": self.dtype, "device": self.device}
        # A copy: `to` converts a network in place, and this one is not ours.
        saved = replace(self.saved, network=copy.deepcopy(self.saved.network).to(**place))
        prior = normalised_prior(self.prior, saved, self.bounds_factor).to(**place)
        return Problem(saved.score(), prior, saved.normaliser.x(x.double()).to(**place))

    def sample(
        self,
        algorithm: Algorithm,
        x: Float[Tensor, "B n d"],
        samples: int,
        generators: list[torch.Generator],
        progress: Progress = iter,
    ) -> Samples:
        """Draws in the parameter's own space, float64, on the CPU; `generators`: one, or one per dataset."""
        run = algorithm.sample(self.problem(x), samples, Noise(generators, self.dtype), progress)
        latent = self.saved.normaliser.latent(run.theta.cpu().double())
        return replace(run, theta=self.prior.to_parameter(latent))

"""Tall posteriors with a trained network: observations in, draws out, both in their own space.

The network, the diffusion and the prior live in the normalised latent space (see `tallsbi.scores.normaliser`);
this is where one goes in and comes out. All B datasets are solved in one call.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.priors.base import DiffusedPrior, Prior
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Sampler, Samples
from tallsbi.scores.context import with_context
from tallsbi.scores.learned_prior import LearnedPrior
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.scores.network_file import SavedNetwork


def normalised_prior(prior: Prior, saved: SavedNetwork, bounds_factor: float = 1.0) -> Prior:
    """The prior as the network sees it, in float64; the bounds of a uniform one times `bounds_factor`."""
    normaliser = saved.normaliser
    normalised = prior.to(dtype=torch.float64).normalised(normaliser.theta_mean, normaliser.theta_std)
    return normalised.widened(bounds_factor)


@dataclass(frozen=True, eq=False)
class NetworkEngine:
    """A trained network and its prior. `bounds_factor` is 2 where published results are repeated, else 1.

    `learned_covariance` says that the network's own prior score is used, with this covariance [m, m] for its
    precision (see `with_learned_prior`).
    """

    saved: SavedNetwork
    prior: Prior
    bounds_factor: float = 1.0
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    learned_covariance: Float[Tensor, "m m"] | None = None

    @classmethod
    def configured(cls, saved: SavedNetwork, prior: Prior, settings: Mapping[str, Any]) -> NetworkEngine:
        """From the settings of a job: `fidelity.uniform_bounds_factor`, `dtype` and `device`."""
        return cls(
            saved,
            prior,
            bounds_factor=settings["fidelity"]["uniform_bounds_factor"],
            dtype=getattr(torch, settings["dtype"]),
            device=settings["device"],
        )

    @property
    def knows_prior(self) -> bool:
        """Whether the network was also trained without context (`TrainingSettings.drop_context`)."""
        return self.saved.network.architecture.x_dim == len(self.saved.normaliser.x_mean) + 1

    def with_learned_prior(self, runner: Sampler, samples: int, generator: torch.Generator) -> NetworkEngine:
        """The same with the prior the network has learned; its covariance is that of samples of `runner`."""
        if not self.knows_prior:
            raise ValueError(
                "this network has no prior score of its own; train it with drop_context > 0 to give it one."
            )
        plain = self.problem(torch.ones(1, 1, len(self.saved.normaliser.x_mean)))
        empty = torch.zeros_like(plain.x)
        unconditional = FactorisedScore(plain.score.bind(empty), plain.prior, datasets=1)
        theta = runner.run(unconditional, samples, Noise([generator], self.dtype)).theta[0]
        return replace(self, learned_covariance=torch.cov(theta.double().mT))

    def problem(self, x: Float[Tensor, "B n d"]) -> Problem:
        """What an algorithm solves, for observations in their own space."""
        place = {"dtype": self.dtype, "device": self.device}
        # A copy: `to` converts a network in place, and this one is not ours.
        network = copy.deepcopy(self.saved.network).to(**place)
        score = NetworkScore(network, self.saved.schedule)
        inputs = self.saved.normaliser.x(x.double()).to(**place)
        if self.knows_prior:
            inputs = with_context(inputs)
        if self.learned_covariance is not None:
            prior: DiffusedPrior = LearnedPrior(
                score, torch.zeros_like(inputs[:1, :1]), self.learned_covariance
            )
        else:
            prior = normalised_prior(self.prior, self.saved, self.bounds_factor).to(**place)
        return Problem(score, prior, inputs)

    def sample(
        self,
        algorithm: Algorithm,
        x: Float[Tensor, "B n d"],
        samples: int,
        generators: list[torch.Generator],
        progress: Progress = iter,
    ) -> Samples:
        """Draws in the parameter's own space, float64, on the CPU; `generators`: one, or one per dataset."""
        posterior = replace(self, bounds_factor=1.0) if algorithm.true_prior else self
        run = algorithm.sample(posterior.problem(x), samples, Noise(generators, self.dtype), progress)
        latent = self.saved.normaliser.latent(run.theta.cpu().double())
        return replace(run, theta=self.prior.to_parameter(latent))

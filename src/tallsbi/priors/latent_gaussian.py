"""Priors that are Gaussian after a transform of the parameter, which is what the diffusion runs on."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import Bounds, Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.schedule import Schedule
from tallsbi.shapes import Precisions, States


class LatentGaussian(Prior):
    """Everything in latent space is that of the Gaussian `latent`; a subclass gives the transform."""

    constant_precision = True
    transformed = True
    latent: Gaussian

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        return self.latent.score_and_excess(theta, t, schedule)

    def covariance(self) -> Float[Tensor, "#B m m"]:
        return self.latent.covariance()

    def latent_mean(self) -> Float[Tensor, "#B m"]:
        return self.latent.latent_mean()

    def reach(self, deviations: float) -> Bounds:
        return self.latent.reach(deviations)

    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Gaussian:
        return self.latent.normalised(mean, std)

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        return self.to_parameter(self.latent.sample(count, generator))

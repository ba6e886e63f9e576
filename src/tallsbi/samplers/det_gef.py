"""The Langevin-free sampler of Geffner et al. 2023, appendix D (appendix M of the paper).

It multiplies the n Gaussian reverse kernels N(mu_j, 1 - gamma) of one grid step and divides by the n - 1
forward kernels they share, which leaves one Gaussian with the same isotropic variance for every coordinate:

    D = n - gamma (n - 1),   v = (1 - gamma) / D,
    theta_s = theta / sqrt(gamma) + v (sum_j s_j / sqrt(gamma) + (1 - n) s_prior) + sqrt(v) z.

"Deterministic" in its name refers to the absence of Langevin steps: noise is added at every step.
"""

import math
from dataclasses import dataclass

from tallsbi.compose.base import TallScore
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.samplers.base import Noise, Sampler
from tallsbi.shapes import States


@dataclass(frozen=True, kw_only=True)
class DetGef(Sampler):
    def step(self, tall: TallScore, theta: States, t: float, s: float, noise: Noise) -> States:
        if not isinstance(tall, FactorisedScore):
            raise TypeError(
                f"DET_GEF moves along the plain sum of scores; it was given a {type(tall).__name__}."
            )
        added = tall.schedule.one_step_noise(t, s)
        root_gamma = math.exp(0.5 * tall.schedule.log_ratio(t, s))
        variance = added / (1 + (tall.n - 1) * added)  # D = n - gamma (n - 1) = 1 + (n - 1)(1 - gamma)
        total, prior = tall.parts(theta, t)
        theta = (theta / root_gamma).add_(total, alpha=variance / root_gamma).add_(prior, alpha=variance)
        return theta.add_(noise(*theta.shape), alpha=math.sqrt(variance))

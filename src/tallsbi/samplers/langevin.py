"""Annealed unadjusted Langevin dynamics, the sampler of F-NPSE (Geffner et al. 2023).

At every grid time t, `inner_steps` times

    theta <- theta + delta_t score(theta, t) + sqrt(2 delta_t) z,   delta_t = tau (1 - gamma_t) / sqrt(gamma_t),

with gamma_t = alpha(t) / alpha(t - 1/T) the factor of a single step.
"""

import math
from dataclasses import dataclass

from tallsbi.compose.base import TallScore
from tallsbi.samplers.base import Noise, RepeatingSampler
from tallsbi.shapes import States


@dataclass(frozen=True, kw_only=True)
class Langevin(RepeatingSampler):
    tau: float = 0.5

    def step(self, tall: TallScore, theta: States, t: float, s: float, noise: Noise) -> States:
        root_gamma = math.exp(0.5 * tall.schedule.log_ratio(t, s))
        delta = self.tau * tall.schedule.one_step_noise(t, s) / root_gamma
        for _ in range(self.inner_steps):
            drift = tall(theta, t)
            theta = theta.add(drift, alpha=delta).add_(noise(*theta.shape), alpha=math.sqrt(2 * delta))
        return theta

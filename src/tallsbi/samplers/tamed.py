"""Tamed unadjusted Langevin dynamics (appendix J of the paper).

The score is evaluated at the lower end s of each grid step, with step eps = ratio sqrt(alpha(s)) sigma(s)^2
and a drift that cannot run away: eps g / (1 + eps |g|), the Euclidean norm taken per sample.
"""

import math
from dataclasses import dataclass

import torch

from tallsbi.compose.base import TallScore
from tallsbi.samplers.base import Noise, RepeatingSampler
from tallsbi.shapes import States


@dataclass(frozen=True, kw_only=True)
class TamedLangevin(RepeatingSampler):
    ratio: float = 0.5

    def step(self, tall: TallScore, theta: States, t: float, s: float, noise: Noise) -> States:
        size = self.ratio * tall.schedule.sqrt_alpha(s) * tall.schedule.sigma2(s)
        for _ in range(self.inner_steps):
            drift = tall(theta, s)
            norm = torch.linalg.vector_norm(drift, dim=-1, keepdim=True)
            tamed = drift * (size / (1 + size * norm))
            theta = (theta + tamed).add_(noise(*theta.shape), alpha=math.sqrt(2 * size))
        return theta

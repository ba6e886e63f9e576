"""DDIM (equations (5) and (6) and appendix C of the paper, after Song et al. 2021).

With theta0 = (theta + upsilon_t score) / sqrt(alpha_t) the denoised estimate and
sd = eta sqrt(upsilon_s / upsilon_t (1 - alpha_t / alpha_s)),

    theta_s = sqrt(alpha_s) theta0 - sqrt(upsilon_s - sd^2) sqrt(upsilon_t) score + sd z.

The last step, s = 0, returns theta0 itself. The two coefficients of (theta, score) are combined in double
precision, so that one step is three fused additions.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tallsbi.compose.base import TallScore
from tallsbi.samplers.base import Noise, Sampler
from tallsbi.schedule import Schedule
from tallsbi.shapes import States

PAPER_ETA: Mapping[int, float] = {50: 0.2, 150: 0.5, 400: 0.8, 1000: 1.0}


def eta_for(steps: int, table: Mapping[int, float] = PAPER_ETA, default: float = 0.5) -> float:
    """The paper's churn for its four step counts, `default` for any other."""
    return table.get(steps, default)


@dataclass(frozen=True, kw_only=True)
class DDIM(Sampler):
    """eta = 0: deterministic; eta = 1: as noisy as ancestral sampling."""

    eta: float

    def step(self, tall: TallScore, theta: States, t: float, s: float, noise: Noise) -> States:
        score = tall(theta, t)
        keep, push, sd = ddim_coefficients(tall.schedule, t, s, self.eta)
        theta = (keep * theta).add_(score, alpha=push)
        return theta.add_(noise(*theta.shape), alpha=sd) if sd > 0 else theta


def ddim_coefficients(schedule: Schedule, t: float, s: float, eta: float) -> tuple[float, float, float]:
    """(keep, push, sd) of theta_s = keep theta + push score + sd z."""
    u_t, u_s = schedule.upsilon(t), schedule.upsilon(s)
    sd = eta * math.sqrt(u_s / u_t * schedule.one_step_noise(t, s))
    keep = math.exp(-0.5 * schedule.log_ratio(t, s))
    push = keep * u_t - math.sqrt(max(u_s - sd * sd, 0.0) * u_t)
    return keep, push, sd

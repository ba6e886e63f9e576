"""Tamed Langevin dynamics against a plain loop over samples, and the taming itself."""

import math

import pytest
import torch
from oracles import GaussianCase, generator

from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.tamed import TamedLangevin
from tallsbi.schedule import NETWORK, TOY


def plain_tamed(tall, schedule, steps, inner, ratio, samples, noise):
    theta = noise(tall.datasets, samples, tall.dim)
    for i in range(steps, 0, -1):
        s = (i - 1) / steps
        size = ratio * math.sqrt(schedule.alpha(s)) * (1 - schedule.alpha(s) + schedule.floor)
        for _ in range(inner):
            z = noise(*theta.shape)
            moved = theta.clone()
            for b in range(theta.shape[0]):
                for k in range(samples):
                    score = tall(theta[:, k : k + 1], s)[b, 0]
                    length = math.sqrt(float(score @ score))
                    moved[b, k] = (
                        theta[b, k] + size * score / (1 + size * length) + math.sqrt(2 * size) * z[b, k]
                    )
            theta = moved
    return theta


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
def test_run_is_the_plain_loop(schedule):
    case = GaussianCase(2, 3, 2, schedule=schedule)
    tall = FactorisedScore(case.bound(), case.prior(), 2)
    result = TamedLangevin(steps=12, inner_steps=3, ratio=0.4).run(
        tall, 4, Noise([generator(2)], torch.float64)
    )
    expected = plain_tamed(tall, schedule, 12, 3, 0.4, 4, Noise([generator(2)], torch.float64))
    torch.testing.assert_close(result.theta, expected, rtol=1e-8, atol=1e-8)


def test_the_drift_of_a_step_is_below_one():
    """However large the score, one step moves a sample by less than 1 before the noise."""

    class Huge(FactorisedScore):
        def __call__(self, theta, t):
            return 1e30 * torch.ones_like(theta)

    case = GaussianCase(1, 2, 3)
    theta = torch.zeros(1, 5, 3, dtype=torch.float64)
    noise = Noise([generator()], torch.float64)
    moved = TamedLangevin(steps=10, inner_steps=1).step(
        Huge(case.bound(), case.prior(), 1), theta, 0.5, 0.4, noise
    )
    size = 0.5 * TOY.sqrt_alpha(0.4) * TOY.sigma2(0.4)
    z = Noise([generator()], torch.float64)(1, 5, 3)
    drift = (moved - math.sqrt(2 * size) * z).norm(dim=-1)
    torch.testing.assert_close(drift, torch.ones(1, 5, dtype=torch.float64))

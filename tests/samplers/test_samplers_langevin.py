"""Annealed Langevin dynamics against a plain loop over samples."""

import math

import pytest
import torch
from oracles import GaussianCase, generator

from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.langevin import Langevin
from tallsbi.schedule import NETWORK, TOY


def plain_langevin(tall, schedule, steps, inner, tau, samples, noise):
    """One sample at a time, alpha and not its logarithm."""
    theta = noise(tall.datasets, samples, tall.dim)
    for i in range(steps, 0, -1):
        t, s = i / steps, (i - 1) / steps
        gamma = schedule.alpha(t) / schedule.alpha(s)
        delta = tau * (1 - gamma) / math.sqrt(gamma)
        for _ in range(inner):
            z = noise(*theta.shape)
            moved = theta.clone()
            for b in range(theta.shape[0]):
                for k in range(samples):
                    score = tall(theta[:, k : k + 1], t)[b, 0]
                    moved[b, k] = theta[b, k] + delta * score + math.sqrt(2 * delta) * z[b, k]
            theta = moved
    return theta


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
def test_run_is_the_plain_loop(schedule):
    case = GaussianCase(2, 3, 2, schedule=schedule)
    tall = FactorisedScore(case.bound(), case.prior(), 2)
    result = Langevin(steps=12, inner_steps=3, tau=0.4).run(tall, 4, Noise([generator(2)], torch.float64))
    expected = plain_langevin(tall, schedule, 12, 3, 0.4, 4, Noise([generator(2)], torch.float64))
    torch.testing.assert_close(result.theta, expected, rtol=1e-8, atol=1e-8)


def test_step_sizes():
    """tau (1 - gamma) / sqrt(gamma) at T = 400 on the schedule of networks: about 0.04, 0.012 and 5e-5."""

    class Zero(FactorisedScore):
        def __call__(self, theta, t):
            return torch.zeros_like(theta)

    case = GaussianCase(1, 2, 1, schedule=NETWORK)
    tall, theta = Zero(case.bound(), case.prior(), 1), torch.zeros(1, 20_000, 1, dtype=torch.float64)
    for t, size in ((1.0, 0.0400), (0.3, 0.01196), (1 / 400, 5.0e-5)):
        moved = Langevin(steps=400, inner_steps=1).step(
            tall, theta, t, t - 1 / 400, Noise([generator()], torch.float64)
        )
        # Variance 2 delta from 20 000 draws: 5 standard errors are 5 %.
        assert float(moved.var()) / 2 == pytest.approx(size, rel=0.06)

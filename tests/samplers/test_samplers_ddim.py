"""DDIM against a plain textbook implementation, its exact law in the Gaussian case, and its order."""

import math

import numpy as np
import pytest
import torch
from oracles import GaussianCase, check_gaussian_draws, ddim_law, generator

from tallsbi.compose.gauss import GaussScore
from tallsbi.compose.jac import JacScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.ddim import DDIM, ddim_coefficients, eta_for
from tallsbi.schedule import NETWORK, TOY, Schedule


def tall_score(case, name="GAUSS"):
    if name == "JAC":
        return JacScore(case.bound(), case.prior(), case.B)
    return GaussScore(case.bound(), case.prior(), case.covariances(), torch.float64)


def textbook_step(theta, score, t, s, eta, schedule, z):
    """Denoised estimate, direction of the noise, bridge."""
    a_t, a_s = schedule.alpha(t), schedule.alpha(s)
    denoised = (theta + (1 - a_t) * score) / math.sqrt(a_t)
    sd = eta * math.sqrt((1 - a_s) / (1 - a_t) * (1 - a_t / a_s))
    direction = (theta - math.sqrt(a_t) * denoised) / math.sqrt(1 - a_t)
    return math.sqrt(a_s) * denoised + math.sqrt(1 - a_s - sd**2) * direction + sd * z


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
@pytest.mark.parametrize("eta", [0.0, 0.2, 0.8, 1.0])
def test_a_step_is_the_textbook_step(eta, schedule):
    case = GaussianCase(2, 3, 2, schedule=schedule)
    tall = tall_score(case)
    for t, s in ((1.0, 0.98), (0.5, 0.48), (0.02, 0.01)):
        theta = case.states(t)
        z = Noise([generator(1)], torch.float64)(*theta.shape)
        expected = textbook_step(theta, tall(theta, t), t, s, eta, schedule, z)
        step = DDIM(steps=50, eta=eta).step(tall, theta, t, s, Noise([generator(1)], torch.float64))
        torch.testing.assert_close(step, expected, rtol=1e-9, atol=1e-9)


def test_the_last_step_is_the_denoised_estimate():
    case = GaussianCase(2, 3, 2)
    tall, theta, t = tall_score(case), case.states(0.02), 0.02
    denoised = (theta + TOY.upsilon(t) * tall(theta, t)) / TOY.sqrt_alpha(t)
    for eta in (0.0, 1.0):
        last = DDIM(steps=50, eta=eta).step(tall, theta, t, 0.0, Noise([generator()], torch.float64))
        torch.testing.assert_close(last, denoised, rtol=1e-12, atol=1e-12)


def test_a_run_is_its_steps_in_a_row():
    case = GaussianCase(2, 3, 2)
    tall = tall_score(case)
    result = DDIM(steps=25, eta=0.7).run(tall, 6, Noise([generator(3)], torch.float64)).theta
    noise = Noise([generator(3)], torch.float64)
    theta = noise(2, 6, 2)
    for i in range(25, 0, -1):
        t, s = i / 25, (i - 1) / 25
        z = noise(2, 6, 2) if i > 1 else 0.0
        theta = textbook_step(theta, tall(theta, t), t, s, 0.7, TOY, z)
    torch.testing.assert_close(result, theta, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_coefficients_preserve_the_noise_level(eta):
    """If score = -theta / sqrt(upsilon_t) e with a unit e, the noise that remains has variance upsilon_s."""
    for t, s in ((1.0, 0.9), (0.3, 0.29), (1e-3, 5e-4)):
        keep, push, sd = ddim_coefficients(TOY, t, s, eta)
        # theta = sqrt(upsilon_t) e (no signal): score = -e / sqrt(upsilon_t).
        u_t = TOY.upsilon(t)
        remaining = keep * math.sqrt(u_t) - push / math.sqrt(u_t)
        assert remaining**2 + sd**2 == pytest.approx(TOY.upsilon(s), rel=1e-9)


def test_order_of_convergence_is_one():
    """Deterministic DDIM on a Gaussian against the closed-form flow: the measured order in 1 / T is 0.99.

    The flow maps theta_1 to mean + sqrt(V / (alpha_1 V + upsilon_1)) (theta_1 - sqrt(alpha_1) mean).
    """
    sharp = Schedule(quadratic=9.975, linear=0.05, floor=0.0)
    case = GaussianCase(1, 4, 1, schedule=sharp)
    tall = tall_score(case)
    mean, cov = (float(value.squeeze()) for value in case.posterior())
    start = Noise([generator()], torch.float64)(1, 20, 1)
    a = sharp.alpha(1.0)
    exact = mean + math.sqrt(cov / (a * cov + 1 - a)) * (start - math.sqrt(a) * mean)
    steps = np.array([50, 100, 200, 400, 800])
    errors = []
    for T in steps:
        theta = DDIM(steps=int(T), eta=0.0).run(tall, 20, Noise([generator()], torch.float64)).theta
        errors.append(float((theta - exact).square().mean().sqrt()))
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.05)
    assert errors[-1] < 0.03 * math.sqrt(cov)


@pytest.mark.parametrize(("steps", "eta"), [(50, 0.2), (150, 0.5)])
@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_draws_follow_the_law_of_the_recursion(name, steps, eta):
    """With linear scores DDIM's output is Gaussian with a known mean and covariance, bias included.

    2 datasets, 5 numbers each, two tests within five standard errors: false alarms below 2e-5.
    """
    case = GaussianCase(2, 8, 2)
    result = DDIM(steps=steps, eta=eta).run(
        tall_score(case, name), 2000, Noise([generator(4)], torch.float64)
    )
    mean, cov = ddim_law(case, steps, eta)
    for b in range(2):
        check_gaussian_draws(result.theta[b], mean[b], cov[b], z=5)


def test_the_law_converges_to_the_tall_posterior():
    """The recursion's covariance approaches the exact one at the rate 1 / T: halved error for doubled T."""
    case = GaussianCase(2, 8, 2)
    exact_mean, exact_cov = case.posterior()
    errors = []
    for steps in (500, 1000, 2000):
        mean, cov = ddim_law(case, steps, 1.0)
        errors.append(np.abs(cov - exact_cov).max())
        assert np.abs(mean - exact_mean).max() < 1e-3 * np.sqrt(exact_cov.max())
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_draws_match_the_exact_tall_posterior(name):
    """T = 1000, eta = 1: within five standard errors plus the 4 % the discretisation adds to the variance.

    False-alarm rate below 1e-5 (2 datasets, 5 numbers each); seed fixed.
    """
    case = GaussianCase(2, 8, 2)
    result = DDIM(steps=1000, eta=1.0).run(tall_score(case, name), 800, Noise([generator(5)], torch.float64))
    mean, cov = case.posterior()
    for b in range(2):
        check_gaussian_draws(result.theta[b], mean[b], cov[b], z=5, slack=0.04)
    assert result.health.lost_definiteness.tolist() == [0, 0]


def test_published_churn():
    assert [eta_for(T) for T in (50, 150, 400, 1000, 100)] == [0.2, 0.5, 0.8, 1.0, 0.5]

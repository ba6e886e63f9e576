"""The multistep solver and its grid: order, law in the Gaussian case, projection, and what it leaves alone."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from box_model import EDGE, box_problem
from oracles import GaussianCase, check_gaussian_draws, generator

from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss import GaussScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.grids import power_grid
from tallsbi.samplers.multistep import Multistep, denoised, log_snr
from tallsbi.schedule import NETWORK, TOY, Schedule


def tall_score(case):
    return GaussScore(case.bound(), case.prior(), case.covariances(), torch.float64)


def test_the_grid_goes_down_from_one_to_zero():
    for steps in (1, 2, 7, 50):
        grid = power_grid(steps, 1e-3, 4.0)
        assert len(grid) == steps + 1
        assert grid[0] == 1.0
        assert grid[-1] == 0.0
        assert all(t > s for t, s in pairwise(grid))
        if steps > 1:
            assert grid[-2] == pytest.approx(1e-3)
            roots = np.array(grid[:-1]) ** 0.25
            assert np.diff(roots) == pytest.approx(np.diff(roots)[0])
    with pytest.raises(ValueError, match="steps=0"):
        power_grid(0, 1e-3, 4.0)
    with pytest.raises(ValueError, match="last_time=1"):
        power_grid(5, 1.0, 4.0)
    with pytest.raises(ValueError, match="churn=-1"):
        Multistep(steps=5, churn=-1.0)


def test_order_of_convergence_is_two():
    """Without churn, against the closed-form flow to the last time and one denoising step from there."""
    sharp = Schedule(quadratic=9.975, linear=0.05, floor=0.0)
    case = GaussianCase(1, 4, 1, schedule=sharp)
    tall = tall_score(case)
    mean, cov = (float(value.squeeze()) for value in case.posterior())

    def variance(t):
        return sharp.alpha(t) * cov + sharp.upsilon(t)

    start, last = Noise([generator()], torch.float64)(1, 20, 1), 1e-2
    centred = (start - sharp.sqrt_alpha(1.0) * mean) / math.sqrt(variance(1.0))
    exact = mean + sharp.sqrt_alpha(last) * cov / math.sqrt(variance(last)) * centred
    steps, errors = np.array([40, 80, 160, 320]), []
    for T in steps:
        solver = Multistep(steps=int(T), last_time=last)
        theta = solver.run(tall, 20, Noise([generator()], torch.float64)).theta
        errors.append(float((theta - exact).square().mean().sqrt()))
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(2.0, abs=0.15)


def multistep_law(case, steps, churn):
    """Mean and covariance of the draws: the state and the last estimate follow a linear recursion."""
    (mean, cov), schedule, eye = case.posterior(), case.schedule, np.eye(case.m)
    zero, B = np.zeros_like(cov), case.B
    state = np.zeros((B, 2 * case.m))
    spread = np.tile(np.block([[eye, 0 * eye], [0 * eye, 0 * eye]]), (B, 1, 1))
    grid, before = Multistep(steps=steps).grid(schedule), None
    for t, s in pairwise(grid):
        a, v = math.exp(0.5 * schedule.log_alpha(t)), schedule.sigma2(t)
        shrink = a * cov @ np.linalg.inv(a * a * cov + v * eye)  # D = shrink theta + (I - a shrink) mean
        offset = np.einsum("bij,bj->bi", eye - a * shrink, mean)
        first, latter = state[:, : case.m], spread[:, : case.m, : case.m]
        if s == 0:
            return np.einsum("bij,bj->bi", shrink, first) + offset, shrink @ latter @ shrink
        now, then = math.log(a * a / v) / 2, math.log(schedule.alpha(s) / schedule.sigma2(s)) / 2
        h = then - now
        weight = 0.0 if before is None else 0.5 * h / (now - before)
        keep = schedule.sigma(s) / schedule.sigma(t) * math.exp(-churn * h)
        pull = math.sqrt(schedule.alpha(s)) * (1 - math.exp(-(1 + churn) * h))
        top = np.concatenate([keep * eye + pull * (1 + weight) * shrink, zero - pull * weight * eye], 2)
        A = np.concatenate([top, np.concatenate([shrink, zero], 2)], 1)
        state = np.einsum("bij,bj->bi", A, state) + np.concatenate([pull * (1 + weight) * offset, offset], 1)
        spread = A @ spread @ A.transpose(0, 2, 1)
        spread[:, : case.m, : case.m] += schedule.sigma2(s) * (1 - math.exp(-2 * churn * h)) * eye
        before = now


@pytest.mark.parametrize(("steps", "churn"), [(10, 0.0), (20, 0.5), (30, 2.0)])
def test_draws_follow_the_law_of_the_recursion(steps, churn):
    """Few steps, so that the law is visibly not the posterior: five standard errors, false alarms below 2e-5."""
    case = GaussianCase(2, 8, 2, schedule=NETWORK)
    solver = Multistep(steps=steps, churn=churn)
    result = solver.run(tall_score(case), 4000, Noise([generator(4)], torch.float64))
    mean, cov = multistep_law(case, steps, churn)
    for b in range(2):
        check_gaussian_draws(result.theta[b], mean[b], cov[b], z=5)


@pytest.mark.parametrize(("churn", "limit"), [(0.0, 0.015), (0.5, 0.025), (1.0, 0.035)])
@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
def test_fifty_steps_are_enough_for_a_gaussian_posterior(schedule, churn, limit):
    """Largest relative error of a variance, by the law itself: no sampling noise."""
    for n in (1, 8, 30):
        case = GaussianCase(2, n, 2, schedule=schedule)
        _, cov = multistep_law(case, 50, churn)
        factor = np.linalg.inv(np.linalg.cholesky(case.posterior()[1]))
        ratios = np.linalg.eigvalsh(factor @ cov @ factor.transpose(0, 2, 1))
        assert np.abs(ratios - 1).max() < limit


def test_the_state_is_free_and_the_estimate_is_not():
    """Wrong scores drive the state out of the box; every estimate and every draw stays inside, unclipped."""
    problem = box_problem(1, (9.0, -9.0), (0.05, 0.05), dtype=torch.float32)
    tall = FactorisedScore(problem.score.bind(problem.x), problem.prior, 1)
    outside = torch.full((1, 5, 2), 4.0)
    last = Multistep(steps=10).step(tall, outside, 1e-3, 0.0, Noise([generator()]))
    assert float(last.abs().max()) < EDGE
    first = Multistep(steps=10).step(tall, outside, 0.01, 0.009, Noise([generator()]))
    assert float(first.min()) > EDGE
    result = Multistep(steps=10, churn=1.0).run(tall, 50, Noise([generator()]))
    assert float(result.theta.double().abs().max()) < EDGE


@pytest.mark.parametrize("churn", [0.0, 1.0])
def test_no_score_carries_draws_away_from_a_gaussian_prior(churn):
    """A score that points outwards everywhere; the priors of the datasets differ."""
    case = GaussianCase(3, 1, 2)
    prior = case.prior()

    class Outwards(FactorisedScore):
        def __call__(self, theta, t):
            return 1e6 * theta

    tall = Outwards(case.bound(), prior, 3)
    theta = Multistep(steps=20, churn=churn).run(tall, 40, Noise([generator()], torch.float64)).theta
    away = (theta - prior.mean[:, None]).abs() / prior.cov.diagonal(dim1=-2, dim2=-1).sqrt()[:, None]
    assert bool(away.isfinite().all())
    assert float(away.max()) <= 6
    assert float(away.amax((1, 2)).min()) > 5.9


def test_the_estimate_is_that_of_tweedie():
    case = GaussianCase(2, 3, 2)
    tall, theta, t = tall_score(case), 50 * case.states(0.3), 0.3
    expected = (theta + TOY.sigma2(t) * tall(theta, t)) / TOY.sqrt_alpha(t)
    torch.testing.assert_close(denoised(tall, theta, t), expected)
    assert log_snr(TOY, t) == pytest.approx(math.log(TOY.sqrt_alpha(t) / TOY.sigma(t)))

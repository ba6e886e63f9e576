"""The toy problems: the same data at every noise level and n, seeds on their own, right simulators."""

import numpy as np
import pytest
import torch
from oracles import check_gaussian_draws
from settings import MODEL, toy_cell

from tallsbi.schedule import TOY
from tallsbi.study.stages.toy import ToyEngine
from tallsbi.study.tasks.toy import PROBLEMS, equicorrelation, make_toy, mixture_components


def toy(name, dim=3, seeds=2, n_max=32, seed=1):
    return make_toy(toy_cell(name, dim, seeds), n_max, seed)


def posterior_problem(problem, n, eps):
    return ToyEngine(problem, eps, torch.float64).problem(problem.x[:, :n])


def tensors(problem):
    return [
        problem.theta,
        problem.x,
        problem.prior.mean,
        problem.prior.cov,
        *vars(problem.perturbation).values(),
    ]


@pytest.mark.parametrize("name", PROBLEMS)
def test_fewer_observations_are_the_first_ones(name):
    few, many = toy(name, n_max=8), toy(name, n_max=32)
    torch.testing.assert_close(few.x, many.x[:, :8], rtol=1e-14, atol=1e-14)
    assert torch.equal(few.theta, many.theta)
    assert torch.equal(posterior_problem(many, 8, 0.0).x, many.x[:, :8])


@pytest.mark.parametrize("name", PROBLEMS)
def test_noise_levels_share_everything_but_the_noise(name):
    problem = toy(name)
    low, high = (posterior_problem(problem, 4, eps) for eps in (0.0, 0.1))
    assert torch.equal(low.x, high.x)
    for one, other in zip(
        vars(low.score.perturbation).values(), vars(high.score.perturbation).values(), strict=True
    ):
        assert torch.equal(one, other)
    theta = torch.zeros(2, 3, 3, dtype=torch.float64)
    exact = problem.score(torch.float64).bind(low.x)(theta, 0.5)
    torch.testing.assert_close(low.score.bind(low.x)(theta, 0.5), exact)
    assert not torch.allclose(high.score.bind(high.x)(theta, 0.5), exact)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_seed_does_not_depend_on_how_many_there_are(name):
    for two, five in zip(tensors(toy(name, seeds=2)), tensors(toy(name, seeds=5)), strict=True):
        assert torch.equal(two, five[:2])
    other = toy(name, seed=2)
    assert not torch.equal(toy(name).x, other.x)


@pytest.mark.parametrize("name", PROBLEMS)
def test_seeds_differ(name):
    problem = toy(name)
    assert not torch.equal(problem.x[0] - problem.theta[0], problem.x[1] - problem.theta[1])
    assert not torch.equal(problem.perturbation.w_x[0], problem.perturbation.w_x[1])


@pytest.mark.parametrize("name", ["gaussian-wide", "gaussian-standard"])
def test_gaussian_simulator(name):
    """Residuals N(0, 0.2 I + 0.8): mean and covariance within five standard errors."""
    problem = toy(name, seeds=2, n_max=5000)
    cov = 0.2 * np.eye(3) + 0.8
    assert equicorrelation(3, 0.8) == pytest.approx(cov)
    for b in range(2):
        check_gaussian_draws(problem.x[b] - problem.theta[b], np.zeros(3), cov, z=5)


def test_mixture_simulator():
    """Second and fourth moments of 1/2 N(0, 2.25 S) + 1/2 N(0, S / 9), five standard errors."""
    problem = toy("mixture", seeds=1, n_max=20_000)
    residual = (problem.x[0] - problem.theta[0]).numpy()
    spread, scales = np.linspace(0.6, 1.4, 3), np.array([2.25, 1 / 9])
    assert mixture_components(3, MODEL) == pytest.approx(scales[:, None] * spread)
    moments = {2: scales.mean() * spread, 4: 3 * (scales**2).mean() * spread**2}
    eighth = 105 * (scales**4).mean() * spread**4
    error = {2: np.sqrt((moments[4] - moments[2] ** 2) / 20_000), 4: np.sqrt(eighth / 20_000)}
    for order, expected in moments.items():
        assert np.all(np.abs((residual**order).mean(0) - expected) < 5 * error[order])
    # Both coordinates belong to the same component: squares are correlated, signs are not.
    squares = np.corrcoef((residual**2).T)
    scale_variance, square_variance = scales.var(), 3 * (scales**2).mean() - scales.mean() ** 2
    assert squares[0, 1] == pytest.approx(scale_variance / square_variance, abs=0.05)
    assert abs(np.corrcoef(residual.T)[0, 1]) < 5 / np.sqrt(20_000)


def test_wide_priors_are_drawn_per_seed():
    problem = toy("gaussian-wide", dim=4, seeds=60, n_max=1)
    mean, variance = problem.prior.mean, torch.diagonal(problem.prior.cov, dim1=1, dim2=2)
    std = variance.sqrt()
    assert bool((mean.abs() <= 10).all() and (std >= 0.1).all() and (std <= 25.1).all())
    # Uniform on 240 numbers: five standard errors of the mean.
    assert abs(float(mean.mean())) < 5 * 20 / np.sqrt(12 * 240)
    assert abs(float(std.mean()) - 12.6) < 5 * 25 / np.sqrt(12 * 240)
    z = (problem.theta - mean) / std
    check_gaussian_draws(z, np.zeros(4), np.eye(4), z=5)


@pytest.mark.parametrize("name", ["gaussian-standard", "mixture"])
def test_other_priors_are_standard(name):
    problem = toy(name)
    assert bool((problem.prior.mean == 0).all())
    assert torch.equal(problem.prior.cov, torch.eye(3, dtype=torch.float64).expand(2, 3, 3))


def test_scores_belong_to_the_simulators():
    """The score vanishes at the mode of the diffused posterior, sqrt(alpha) times the posterior mean."""
    problem = toy("gaussian-wide")
    x = problem.x[:, :1]
    cov = torch.linalg.inv(torch.linalg.inv(problem.prior.cov) + torch.linalg.inv(problem.noise_cov))
    right = torch.linalg.solve(problem.prior.cov, problem.prior.mean)
    right = right + torch.linalg.solve(problem.noise_cov, x[:, 0].T).T
    mean = (cov @ right[..., None])[..., 0]
    score = problem.score(torch.float64).bind(x)((TOY.sqrt_alpha(0.3) * mean)[:, None], 0.3)
    assert float(score.abs().max()) < 1e-9


def test_an_unknown_problem_is_named():
    with pytest.raises(ValueError, match="gaussian-wide, gaussian-standard, mixture"):
        toy("gausian")


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_toy_is_a_simulator_like_the_others(name):
    problem, theta = toy(name), np.zeros((20_000, 3))
    x = problem.simulate(theta, np.random.default_rng(0))
    assert (problem.dim_theta, problem.dim_x, len(problem.parameter_names)) == (3, 3, 3)
    residual = (problem.x[0] - problem.theta[0]).numpy()
    # The same noise as in its datasets: 32 rows of them against many, seven standard errors of the mean square.
    ratio = (residual**2).mean() / (x**2).mean()
    assert abs(np.log(ratio)) < 7 * np.sqrt(2 / 32)

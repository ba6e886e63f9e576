"""GAUSS_PD: exact in the Gaussian case, inside a box, bounded in memory, and one algorithm among the others."""

import numpy as np
import pytest
import torch
from box_model import EDGE, box_problem, wasserstein
from oracles import (
    TIMES,
    GaussianCase,
    check_gaussian_draws,
    generator,
    relative_error,
    whitened_covariance,
)

from tallsbi import algorithms
from tallsbi.algorithms import gauss_pd as module
from tallsbi.algorithms.base import Problem
from tallsbi.compose.gauss_pd import GaussPDScore
from tallsbi.compose.loewner import bind_blocks
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores.base import BoundScore, Score
from tallsbi.scores.gaussian import GaussianScore

POSITIVE_DEFINITE = ["GAUSS_PD", "JAC_PD"]


def composed(case, covariances=None, size=1000, dtype=torch.float64):
    blocks = bind_blocks(case.score(dtype), case.observations(dtype), size)
    covariances = case.covariances() if covariances is None else covariances
    return GaussPDScore(blocks, case.prior(dtype), covariances, dtype)


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
@pytest.mark.parametrize(("n", "m"), [(2, 1), (30, 2), (100, 10), (1000, 2)])
def test_gaussian_tall_score_is_exact(n, m, schedule):
    """The cap at the prior changes nothing where posteriors are narrower: 1e-9 relative at every t."""
    case = GaussianCase(3, n, m, schedule=schedule)
    tall = composed(case)
    for t in TIMES:
        theta = case.states(t)
        assert relative_error(tall(theta, t), case.tall_score(theta, t)) < 1e-9, t
    assert tall.lost_definiteness.count.tolist() == [0, 0, 0]


def test_observations_may_come_in_blocks():
    """Each with a covariance of its own, some of them wider than the prior."""
    case = GaussianCase(2, 7, 3)
    scale = torch.from_numpy(np.random.default_rng(1).uniform(0.1, 4, (2, 7, 1, 1)))
    theta = case.states(0.2)
    whole = composed(case, case.covariances() * scale)(theta, 0.2)
    for size in (1, 3):
        parts = composed(case, case.covariances() * scale, size)
        assert parts.n == 7
        torch.testing.assert_close(parts(theta, 0.2), whole, rtol=1e-12, atol=1e-12)


def test_a_covariance_that_is_not_finite_is_counted():
    case = GaussianCase(2, 3, 2)
    covariances = case.covariances().clone()
    covariances[1, 0] = torch.nan
    tall = composed(case, covariances)
    score = tall(case.states(0.2, S=4), 0.2)
    assert bool(score[0].isfinite().all())
    assert bool(score[1].isnan().all())
    assert tall.lost_definiteness.count.tolist() == [0, 4]


def test_covariances_are_exact_up_to_the_solver_whatever_the_number_of_draws():
    """Whitened starts through an affine flow: 10 draws give what infinitely many would.

    30 steps widen a variance by at most 1.6 % here, 60 steps by 0.4 %: second order.
    """
    case = GaussianCase(2, 3, 2, schedule=NETWORK)
    exact, errors = case.single_covariance(), []
    for steps in (30, 60):
        algorithm = algorithms.build("GAUSS_PD", {"cov_steps": steps, "cov_samples": 10})
        noise = Noise([generator(1), generator(2)], torch.float64)
        white = whitened_covariance(algorithm.estimate(case.problem(), noise), exact)
        errors.append(float((white - torch.eye(2)).abs().max()))
    assert errors[0] < 0.02
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
@pytest.mark.parametrize("name", POSITIVE_DEFINITE)
def test_defaults_match_the_gaussian_tall_posterior(name, schedule):
    """Five standard errors plus 2 % for the 50 steps (measured: 1 %); false alarms below 1e-5."""
    case = GaussianCase(2, 30, 2, schedule=schedule)
    settings, samples = ({"cov_samples": 50}, 2000) if name == "GAUSS_PD" else ({}, 500)
    result = algorithms.build(name, settings).sample(
        case.problem(), samples, Noise([generator(1), generator(2)], torch.float64)
    )
    mean, cov = case.posterior()
    for b in range(2):
        check_gaussian_draws(result.theta[b], mean[b], cov[b], z=5, slack=0.02)
    assert result.health.lost_definiteness.tolist() == [0, 0]


@pytest.mark.parametrize("n", [1, 8, 30])
@pytest.mark.parametrize("centre", [(0.0, 0.0), (1.7, -1.7)], ids=["middle", "corner"])
def test_draws_in_a_box_are_inside_and_near_the_exact_posterior(n, centre):
    """W1 in standard deviations; 300 exact draws are at 0.03 to 0.09 of each other.

    In the middle the Gaussian weights are good. In a corner they are not, posteriors there being half normals:
    up to one standard deviation is left of it.
    """
    problem = box_problem(n, centre, (0.1, 0.3))
    algorithm = algorithms.build("GAUSS_PD", {"cov_samples": 50})
    result = algorithm.sample(problem, 300, Noise([generator(1)], torch.float64))
    assert float(result.theta.abs().max()) < EDGE
    assert result.health.lost_definiteness.tolist() == [0]
    limit = 0.15 if n == 1 else 0.25 if centre == (0.0, 0.0) else 1.2
    assert wasserstein(result.theta[0], problem).max() < limit


class _Recorder(Score):
    """A Gaussian score that notes the number of scores it is asked for at once."""

    def __init__(self, exact):
        self.exact, self.dim, self.schedule, self.sizes = exact, exact.dim, exact.schedule, []

    def bind(self, x):
        return _Recording(self.exact.bind(x), self.sizes)


class _Recording(BoundScore):
    def __init__(self, bound, sizes):
        self.bound, self.n, self.schedule, self.sizes = bound, bound.n, bound.schedule, sizes

    def __call__(self, theta, t):
        self.sizes.append(theta.numel() * self.n)
        return self.bound(theta, t)


def test_memory_is_bounded_in_n(monkeypatch):
    """1,000 observations never meet all samples at once, and the draws are still the posterior's."""
    monkeypatch.setattr(module, "_SCORES_AT_ONCE", 40_000)
    prior = Gaussian.standard(2, torch.float64)
    score = _Recorder(GaussianScore(prior, torch.eye(2).double(), NETWORK))
    x = 0.5 + torch.randn(1, 1000, 2, generator=generator(), dtype=torch.float64)
    algorithm = algorithms.build("GAUSS_PD", {"cov_samples": 8})
    result = algorithm.sample(Problem(score, prior, x), 500, Noise([generator(1)], torch.float64))
    assert max(score.sizes) <= 40_000
    mean = x[0].sum(0).numpy() / 1001
    check_gaussian_draws(result.theta[0], mean, np.eye(2) / 1001, z=5, slack=0.05)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("name", POSITIVE_DEFINITE)
def test_many_datasets_at_once_equal_one_at_a_time(name, n):
    case = GaussianCase(3, n, 2)
    settings = {"steps": 12, **({"cov_steps": 10, "cov_samples": 9} if name == "GAUSS_PD" else {})}
    algorithm, problem = algorithms.build(name, settings), case.problem()
    joint = algorithm.sample(problem, 7, Noise([generator(10 + b) for b in range(3)], torch.float64))
    for b in range(3):
        prior = Gaussian(problem.prior.mean[b], problem.prior.cov[b])
        score = GaussianScore(prior, problem.score.noise_cov, problem.score.schedule)
        alone = algorithm.sample(
            Problem(score, prior, problem.x[b : b + 1]), 7, Noise([generator(10 + b)], torch.float64)
        )
        torch.testing.assert_close(joint.theta[b : b + 1], alone.theta, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", POSITIVE_DEFINITE)
def test_the_positive_definite_are_algorithms_like_the_others(name):
    algorithm = algorithms.build(name, {"steps": 20})
    assert name in algorithms.names()
    assert algorithm.true_prior
    assert "true_prior" not in algorithm.settings()
    assert set(algorithms.settings_of(name)) == set(algorithm.settings())
    assert algorithm.score_evaluations == (50 if name == "GAUSS_PD" else 20)
    shared = algorithms.SharedSettings(clip=3.0, eta={}, eta_default=0.5, switch_over=0.5)
    assert algorithms.configured(f"{name}-clip", {"steps": 20}, shared).clip == 3.0
    assert not algorithms.build("GAUSS", {}).true_prior


def test_covariances_need_enough_draws():
    problem = GaussianCase(1, 2, 3).problem()
    with pytest.raises(ValueError, match="cov_samples=3: a covariance in 3 dimensions"):
        algorithms.build("GAUSS_PD", {"cov_samples": 3}).estimate(
            problem, Noise([generator()], torch.float64)
        )

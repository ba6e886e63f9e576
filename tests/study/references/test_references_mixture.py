"""Mixture posteriors: their components against the task's likelihood, the search against full enumeration."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from scipy.special import logsumexp

from tallsbi.study.references import mixture
from tallsbi.study.references.mixture import _log_interval, _truncated_normal, components, sample, search
from tallsbi.study.tasks import load
from tallsbi.study.tasks.base import use_float64

use_float64()
PRECISION = {"gmm": 1.0, "gmm_uniform": 0.0}


def problem(name, n, number=0):
    task = load(name)
    theta = task.theta_star(25).astype(float)[number : number + 1]
    return task, task.observe(theta, n, lambda b: np.random.default_rng([number, n]))[0]


def all_assignments(n):
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


@pytest.mark.parametrize("name", ["gmm", "gmm_uniform"])
def test_the_components_add_up_to_the_posterior(name):
    """Sum over assignments of weight times Gaussian is prior times the task's likelihood, up to a constant."""
    task, x = problem(name, 5)
    stds = np.array(mixture.component_stds(task))
    mean, precision, log_weight = components(x, all_assignments(5), stds, PRECISION[name])
    points = x[0] + np.random.default_rng(1).standard_normal((30, 10)) * np.geomspace(0.01, 1, 30)[:, None]
    square = ((points[:, None] - mean) ** 2).sum(-1)
    ours = logsumexp(log_weight + 5 * np.log(precision) - 0.5 * precision * square, axis=1)
    log_prior = -0.5 * PRECISION[name] * (points**2).sum(-1)
    direct = np.array([float(task.log_likelihood(point, x)) for point in points]) + log_prior
    np.testing.assert_allclose(ours - ours[0], direct - direct[0], atol=1e-8)


@pytest.mark.parametrize("name", ["gmm", "gmm_uniform"])
@pytest.mark.parametrize("n", [2, 6, 10])
def test_the_search_finds_the_mass(name, n):
    """What it leaves out of the full enumeration weighs less than 1e-6, for every parameter set tried."""
    for number in range(8):
        task, x = problem(name, n, number)
        stds = np.array(mixture.component_stds(task))
        every = components(x, all_assignments(n), stds, PRECISION[name])[2]
        searched = components(x, search(x, stds, PRECISION[name]), stds, PRECISION[name])[2]
        assert -np.expm1(logsumexp(searched) - logsumexp(every)) < 1e-6


def test_the_missed_share_is_seen(monkeypatch):
    """Eleven observations at zero, one as probable under either component: without one of its two assignments
    about half of the posterior is missed, and the draws show it."""
    task = load("gmm")
    stds = np.array(mixture.component_stds(task))
    both = np.ones((2, 12), dtype=bool)
    both[1, 0] = False

    def balance(distance):
        log_weight = components(place(distance), both, stds, 1.0)[2]
        return log_weight[0] - log_weight[1]

    def place(distance):
        x = np.zeros((12, 10))
        x[0, 0] = distance
        return x

    x = place(scipy.optimize.brentq(balance, 0.1, 3.0))
    assert sample(task, x, 500, np.random.default_rng(0))[1] < 1e-6
    monkeypatch.setattr(mixture, "search", lambda *_: both[:1])
    assert 0.3 < sample(task, x, 500, np.random.default_rng(0))[1] < 0.6


@pytest.mark.parametrize("name", ["gmm", "gmm_uniform"])
@pytest.mark.parametrize("n", [1, 8, 14, 30])
def test_ranks_of_the_true_parameters_are_uniform(name, n):
    """25 sets times 10 coordinates, Kolmogorov-Smirnov at level 1e-4 with the coordinates taken as independent.

    Those of one set are nearly so: given the assignment they are.
    """
    task = load(name)
    theta = task.theta_star(25).astype(float)
    x = task.observe(theta, n, lambda b: np.random.default_rng([3, b]))
    below = [
        (sample(task, x[b], 400, np.random.default_rng([4, b]))[0] < theta[b]).mean(0) for b in range(25)
    ]
    assert scipy.stats.kstest(np.concatenate(below), "uniform").pvalue > 1e-4


def test_draws_stay_in_the_box_however_far_the_observation():
    task = load("gmm_uniform")
    x = np.full((1, 10), 14.0)
    theta, _ = sample(task, x, 1000, np.random.default_rng(0))
    assert np.all(np.abs(theta) <= 10)
    expected = scipy.stats.truncnorm((-10 - 14) / 2.25, (10 - 14) / 2.25, 14, 2.25)
    assert scipy.stats.kstest(theta[:, 3], expected.cdf).pvalue > 1e-4


@pytest.mark.parametrize("low", [-50.0, -3.0, 0.0, 2.0, 9.0])
def test_truncated_normals_in_any_tail(low):
    high = low + 1.5
    expected = scipy.stats.truncnorm(low, high)
    z = _truncated_normal(np.full(5000, low), np.full(5000, high), np.random.default_rng(1))
    assert np.all((z >= low) & (z <= high))
    assert scipy.stats.kstest(z, expected.cdf).pvalue > 1e-4
    value = _log_interval(np.array([low]), np.array([high]))[0]
    exact = scipy.stats.norm.logsf(-high if low < 0 else low)
    other = scipy.stats.norm.logsf(-low if low < 0 else high)
    assert value == pytest.approx(exact + np.log1p(-np.exp(other - exact)), rel=1e-12)


def test_whole_line_is_no_truncation():
    assert _log_interval(np.array([-np.inf]), np.array([np.inf]))[0] == 0
    z = _truncated_normal(np.full(5000, -np.inf), np.full(5000, np.inf), np.random.default_rng(2))
    assert scipy.stats.kstest(z, "norm").pvalue > 1e-4


def test_a_prior_of_another_form_is_refused():
    task = load("bernoulli_glm")
    with pytest.raises(ValueError, match="isotropic"):
        mixture._prior(task)

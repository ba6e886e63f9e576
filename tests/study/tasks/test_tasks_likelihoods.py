"""Log-likelihoods: against scipy's densities, against differences, and against the simulators."""

from functools import cache

import jax
import numpy as np
import pytest
import scipy.stats
from task_oracles import exact_trajectory

from tallsbi.study import tasks
from tallsbi.study.tasks import bernoulli_glm


def slcp_density(theta, x):
    s1, s2, rho = theta[2] ** 2, theta[3] ** 2, np.tanh(theta[4])
    cov = [[s1**2 + 1e-6, rho * s1 * s2], [rho * s1 * s2, s2**2 + 1e-6]]
    return scipy.stats.multivariate_normal(theta[:2], cov).logpdf(x.reshape(-1, 2)).sum()


def linear_density(theta, x):
    return scipy.stats.multivariate_normal(theta, np.diag(np.linspace(0.6, 1.4, 10))).logpdf(x).sum()


def mixture_density(theta, x):
    parts = [scipy.stats.norm(theta, std).logpdf(x).sum(-1) for std in (2.25, 1 / 9)]
    return np.log(0.5 * np.exp(parts[0]) + 0.5 * np.exp(parts[1])).sum()


def bins_density(theta, x):
    rate = 1 / (1 + np.exp(-bernoulli_glm.design_matrix() @ theta))
    return scipy.stats.bernoulli(rate).logpmf(x).sum()


def lotka_volterra_density(theta, x):
    states = exact_trajectory(theta, [np.log(30), 0], np.arange(0, 201, 21) * 0.1)
    populations = np.clip(np.exp(states.T.ravel()), 1e-10, 1e4)
    return scipy.stats.lognorm.logpdf(x, 0.1, scale=populations).sum()


def sir_density(theta, x):
    beta, gamma = theta
    states = exact_trajectory((0, beta, gamma, beta), np.log([1 - 1e-6, 1e-6]), np.arange(0, 161, 17.0))
    return scipy.stats.binom(1000, np.exp(states[:, 1])).logpmf(x).sum()


DENSITIES = {
    "slcp": slcp_density,
    "gaussian_linear": linear_density,
    "gmm": mixture_density,
    "gmm_uniform": mixture_density,
    "bernoulli_glm_raw": bins_density,
    "lotka_volterra": lotka_volterra_density,
    "sir": sir_density,
}
SMOOTH = sorted(DENSITIES.keys() | {"bernoulli_glm"})


@cache
def likelihood(name):
    """Compiled, except where the solver inside already is and compiling it again would take seconds."""
    function = tasks.load(name).log_likelihood
    return function if name in ("sir", "lotka_volterra") else jax.jit(function)


def data(name, n=5, which=3):
    task = tasks.load(name)
    theta = task.theta_star().astype(float)[[which]]
    return task, theta[0], task.observe(theta, n, np.random.default_rng)[0]


@pytest.mark.parametrize("name", DENSITIES)
def test_log_likelihood_is_scipys(name):
    """At the truth and at a prior draw, for observations of the truth."""
    task, theta, x = data(name)
    for point in (theta, theta + 0.3 * (task.theta_train(1)[0].astype(float) - theta)):
        value = float(likelihood(name)(point, x))
        assert value == pytest.approx(DENSITIES[name](point, x), rel=1e-6, abs=1e-6)


def test_the_sufficient_statistics_have_the_likelihood_of_the_bins():
    raw, theta, y = data("bernoulli_glm_raw")
    task = tasks.load("bernoulli_glm")
    x = y @ bernoulli_glm.design_matrix()
    for point in (theta, -theta):
        assert float(task.log_likelihood(point, x)) == pytest.approx(float(raw.log_likelihood(point, y)))
    np.testing.assert_allclose(
        task.simulate(theta[None], np.random.default_rng(0)),
        raw.simulate(theta[None], np.random.default_rng(0)) @ bernoulli_glm.design_matrix(),
    )


@pytest.mark.parametrize("name", tasks.names())
def test_observations_add_up(name):
    _, theta, x = data(name)
    single = sum(float(likelihood(name)(theta, x[i : i + 1])) for i in range(len(x)))
    assert float(likelihood(name)(theta, x)) == pytest.approx(single, rel=1e-10)


@pytest.mark.parametrize("name", tasks.names())
def test_gradient_of_many_chains_is_that_of_differences(name):
    _, theta, x = data(name)
    theta = theta * 1.003  # a little off the truth, inside every prior
    chains = np.stack([theta, theta * 1.001])
    function = likelihood(name)
    gradient = jax.vmap(jax.grad(function), in_axes=(0, None))(chains, x)
    differences = [
        (float(function(theta + step, x)) - float(function(theta - step, x))) / (2 * step.sum())
        for step in np.diag(1e-6 * np.abs(theta))
    ]
    scale = 1 + np.abs(differences).max()
    assert np.abs(np.asarray(gradient[0]) - differences).max() < 2e-5 * scale
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", SMOOTH)
def test_simulator_and_likelihood_belong_together(name):
    """The score of simulated data has mean zero and its covariance is minus the mean Hessian, in law.

    Two Moons is left out: its density jumps at the ends of the crescent. The mean and one quadratic form,
    4.5 standard errors each, at most 11 comparisons a task: false alarms below 1e-3 over all tasks.
    """
    task, theta, _ = data(name)
    count = 3000
    x = task.simulate(np.repeat(theta[None], count, 0), np.random.default_rng(5))
    score = jax.vmap(jax.grad(likelihood(name)), in_axes=(None, 0))
    s = np.asarray(score(theta, x[:, None]))
    error = s.std(0) / np.sqrt(count)
    assert (np.abs(s.mean(0)) < 4.5 * error + 1e-12).all()

    direction = np.random.default_rng(6).standard_normal(task.dim_theta) / s.std(0)
    h = 1e-4 / np.abs(direction / theta).max()
    ahead, behind = (np.asarray(score(theta + sign * h * direction, x[:, None])) for sign in (1, -1))
    curvature = (ahead - behind) @ direction / (2 * h)
    balance = (s @ direction) ** 2 + curvature
    assert abs(balance.mean()) < 4.5 * balance.std() / np.sqrt(count)


def test_float32_is_refused():
    task, theta, x = data("slcp")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(RuntimeError, match="use_float64"):
            task.log_likelihood(theta, x)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_two_moons_likelihood_integrates_to_one():
    """On a grid over the crescent, which the density leaves at its ends only."""
    task = tasks.load("two_moons")
    theta = np.array([0.3, -0.7])
    centre = np.array([-abs(theta.sum()) / np.sqrt(2) + 0.25, (theta[1] - theta[0]) / np.sqrt(2)])
    side = np.linspace(0, 0.2, 401)[:-1] + 0.00025
    up = np.linspace(-0.2, 0.2, 801)[:-1] + 0.00025
    x = (centre + np.stack(np.meshgrid(side, up), -1)).reshape(-1, 1, 2)
    log_density = jax.jit(jax.vmap(task.log_likelihood, in_axes=(None, 0)))(theta, x)
    assert float(np.exp(log_density).sum()) * 0.0005**2 == pytest.approx(1, abs=1e-4)


def test_two_moons_behind_the_crescent():
    """To the left of the origin the radius is negative: finite, and ten standard deviations away."""
    task = tasks.load("two_moons")
    theta = np.zeros(2)
    right, left = (float(task.log_likelihood(theta, np.array([[0.25 + s * 0.01, 0.0]]))) for s in (1, -1))
    expected = [scipy.stats.norm(0.1, 0.01).logpdf(r) - np.log(np.pi * 0.01) for r in (0.01, -0.01)]
    assert [right, left] == pytest.approx(expected)


def test_two_moons_cannot_tell_the_sign_of_the_sum():
    task = tasks.load("two_moons")
    x = task.simulate(np.array([[0.2, 0.5]]), np.random.default_rng(0))
    mirrored = np.array([-0.5, -0.2])
    assert float(task.log_likelihood(np.array([0.2, 0.5]), x)) == pytest.approx(
        float(task.log_likelihood(mirrored, x))
    )


def test_slcp_has_four_symmetric_modes():
    task, theta, x = data("slcp")
    values = [
        float(task.log_likelihood(theta * np.array([1, 1, s, t, 1]), x)) for s in (1, -1) for t in (1, -1)
    ]
    assert values == pytest.approx([values[0]] * 4)


@pytest.mark.parametrize("name", ["gaussian_linear", "gaussian_2d"])
def test_closed_form_is_proportional_to_prior_times_likelihood(name):
    task, _, x = data(name, n=7)
    mean, cov = task.closed_form(x)
    posterior = scipy.stats.multivariate_normal(mean, cov)
    rng = np.random.default_rng(0)
    points = mean + rng.standard_normal((5, task.dim_theta))
    joint = [
        float(task.log_likelihood(p, x)) + scipy.stats.norm.logpdf(p).sum() - posterior.logpdf(p)
        for p in points
    ]
    assert joint == pytest.approx([joint[0]] * 5, rel=1e-10)

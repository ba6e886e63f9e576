"""The two solvers of a' = alpha - beta e^b, b' = -gamma + delta e^a.

Oracles: scipy to 1e-12, the two solvers against each other, exact solutions, and the conserved quantity
delta e^a - gamma a + beta e^b - alpha b.
"""

import time

import jax
import numpy as np
import pytest
from task_oracles import exact_trajectory

from tallsbi.study.tasks import lotka_volterra, sir
from tallsbi.study.tasks.ode.flow import flow
from tallsbi.study.tasks.ode.kernel import trajectories


def lotka_volterra_rates(count=50_000):
    return lotka_volterra.TASK.theta_train(count).astype(float)


def sir_rates(count=50_000):
    contact, recovery = sir.TASK.theta_train(count).astype(float).T
    return np.stack([0 * contact, contact, recovery, contact], -1)


CASES = {
    "lotka_volterra": (lotka_volterra_rates, lotka_volterra.START, lotka_volterra.TIMES),
    "sir": (sir_rates, sir.START, sir.TIMES),
}


def extreme(rates):
    """The rows with the largest and smallest value in each column, and with the largest product."""
    moving = rates[:, rates.std(0) > 0]
    return np.unique(np.concatenate([moving.argmax(0), moving.argmin(0), [moving.prod(1).argmax()]]))


def flows(rates, start, times, lanes=256):
    """Of any number of rates, always `lanes` at a time: one compilation serves all tests."""
    padded = np.concatenate([rates, np.tile(rates[:1], (-len(rates) % lanes, 1))])
    solve = jax.vmap(flow, in_axes=(0, None, None))
    blocks = [solve(padded[i : i + lanes], start, times) for i in range(0, len(padded), lanes)]
    return np.concatenate(blocks)[: len(rates)]


@pytest.mark.parametrize("name", CASES)
def test_both_solvers_are_exact_to_1e_6_over_the_prior(name):
    """Ordinary draws and the most extreme of the 50,000; an error of the logarithm is a relative error."""
    draw, start, times = CASES[name]
    rates = draw()
    rates = np.concatenate([rates[:6], rates[extreme(rates)]])
    expected = np.stack([exact_trajectory(row, start, times) for row in rates])
    np.testing.assert_allclose(trajectories(rates, start, times), expected, rtol=0, atol=2e-7)
    np.testing.assert_allclose(flows(rates, start, times), expected, rtol=0, atol=5e-7)


@pytest.mark.parametrize("name", CASES)
def test_the_solvers_agree_over_the_prior(name):
    draw, start, times = CASES[name]
    rates = draw(3000)
    many = trajectories(rates, start, times)
    np.testing.assert_allclose(flows(rates, start, times), many, rtol=0, atol=5e-7)


@pytest.mark.parametrize("name", CASES)
def test_the_solvers_agree_near_the_parameter_sets(name):
    """Where a posterior of many observations lives, and with a step of a sampler away from it."""
    _, start, times = CASES[name]
    task = lotka_volterra.TASK if name == "lotka_volterra" else sir.TASK
    rng = np.random.default_rng(0)
    theta = np.repeat(task.theta_star().astype(float), 8, 0)
    theta *= np.exp(rng.choice([0.01, 0.1, 0.5], (200, 1)) * rng.standard_normal(theta.shape))
    rates = theta if name == "lotka_volterra" else theta[:, [0, 0, 1, 0]] * [0, 1, 1, 1]
    many = trajectories(rates, start, times)
    np.testing.assert_allclose(flows(rates, start, times), many, rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", CASES)
def test_the_conserved_quantity_is_conserved(name):
    draw, start, times = CASES[name]
    rates = draw(5000)
    states = trajectories(rates, start, times)
    alpha, beta, gamma, delta = rates.T[:, :, None]
    a, b = states[..., 0], states[..., 1]
    terms = np.stack([delta * np.exp(a), -gamma * a, beta * np.exp(b), -alpha * b])
    drift = terms.sum(0) - terms.sum(0)[:, :1]
    assert np.abs(drift / np.abs(terms).sum(0)).max() < 1e-7


def test_without_interaction_both_grow_exponentially():
    times = np.linspace(0, 30, 10)
    start = np.array([1.0, 2.0])
    rates = np.array([[0.3, 0.0, 0.7, 0.0]])
    expected = (start + times[:, None] * [0.3, -0.7])[None]
    np.testing.assert_allclose(trajectories(rates, start, times), expected, rtol=1e-12)
    np.testing.assert_allclose(flows(rates, start, times), expected, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_other_solver(name):
    """Central differences of `kernel` at a tighter tolerance."""
    draw, start, times = CASES[name]
    rates = draw()
    rates = np.concatenate([rates[:5], rates[extreme(rates)][:3]])
    jacobians = np.asarray(jax.vmap(jax.jacfwd(flow), in_axes=(0, None, None))(rates, start, times))
    h = 1e-5
    for k in range(4):
        shift = h * np.maximum(rates[:, k], 0.1)
        up, down = rates.copy(), rates.copy()
        up[:, k] += shift
        down[:, k] -= shift
        ahead, behind = (trajectories(r, start, times, tolerance=1e-13) for r in (up, down))
        difference = (ahead - behind) / (2 * shift[:, None, None])
        scale = 1 + np.abs(difference).max((1, 2), keepdims=True)
        assert np.abs((jacobians[..., k] - difference) / scale).max() < 1e-5


def test_a_trajectory_does_not_depend_on_its_neighbours():
    draw, start, times = CASES["lotka_volterra"]
    rates = draw(50)
    np.testing.assert_array_equal(flows(rates[7:8], start, times)[0], flows(rates, start, times)[7])
    many = trajectories(rates, start, times)
    np.testing.assert_array_equal(trajectories(rates[7:8], start, times)[0], many[7])


def test_impossible_rates_end_in_nan_or_an_error():
    _, start, times = CASES["lotka_volterra"]
    wild = np.array([[1e9, 1.0, 1e9, 1.0], [np.nan, 1.0, 1.0, 1.0], [0.9, 0.05, 0.9, 0.05]])
    solved = np.isfinite(flows(wild, start, times)).all((1, 2))
    assert solved.tolist() == [False, False, True]
    with pytest.raises(ValueError, match=r"1 of 2 trajectories .* \[nan, 1.0, 1.0, 1.0\]"):
        trajectories(wild[1:], start, times)


def test_many_simulations_take_little_time():
    """50,000 of Lotka-Volterra in under 60 s is the requirement; a tenth in a tenth of it."""
    draw, start, times = CASES["lotka_volterra"]
    rates = draw(5000)
    trajectories(rates[:1], start, times)  # compiles
    begin = time.perf_counter()
    trajectories(rates, start, times)
    assert time.perf_counter() - begin < 6

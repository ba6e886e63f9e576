"""Coordinates of reference samplers: exact changes of variables, checked against the tasks' own densities."""

from functools import cache

import numpy as np
import pytest
import torch

from tallsbi.study.references import slcp
from tallsbi.study.references.standardised import (
    coordinates,
    first_observations,
    prior_map,
    weighted_likelihood,
)
from tallsbi.study.tasks import load
from tallsbi.study.tasks.base import use_float64

use_float64()
TASKS = ["slcp", "two_moons", "bernoulli_glm", "gaussian_linear", "sir", "lotka_volterra"]


def observations(task, n, seed=0):
    theta = task.theta_star(1).astype(float)
    return task.observe(theta, n, lambda b: np.random.default_rng([seed, b]))


@pytest.mark.parametrize("name", TASKS)
def test_standard_normals_become_the_prior(name):
    """The density of T(z) by the change of variables is the prior's."""
    import jax

    task = load(name)
    to_parameter = prior_map(task)
    z = np.random.default_rng(1).standard_normal((5, task.dim_theta))
    theta = np.asarray(jax.vmap(to_parameter)(z))
    jacobian = np.asarray(jax.vmap(jax.jacfwd(to_parameter))(z))
    log_z = -0.5 * (z**2 + np.log(2 * np.pi)).sum(-1)
    expected = task.prior.to(dtype=torch.float64).log_prob(torch.from_numpy(theta.copy())).numpy()
    np.testing.assert_allclose(log_z - np.linalg.slogdet(jacobian)[1], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["slcp", "bernoulli_glm_raw", "two_moons"])
def test_only_the_first_observations_count(name):
    """All five with weights 1, 1, 1, 0, 0 have the likelihood of three, also where the rest are impossible."""
    task = load(name)
    x = observations(task, 5)
    x[:, 3:] = np.nan
    data, weight = first_observations(x, 3)
    theta = task.theta_star(1)[0].astype(float)
    value = weighted_likelihood(task)(theta, (data[0], weight[0]))
    np.testing.assert_allclose(value, task.log_likelihood(theta, x[0, :3]), rtol=1e-12)


def test_one_solution_serves_all_observations():
    """The ODE of SIR is not solved once per observation: its loop stays unbatched under the rows' vmap."""
    import jax

    task = load("sir")
    data, weight = first_observations(observations(task, 7), 7)
    jaxpr = jax.make_jaxpr(coordinates(task).log_ratio)(np.zeros(2), (data[0], weight[0]))
    loops = [eqn for eqn in _equations(jaxpr.jaxpr) if eqn.primitive.name == "while"]
    assert len(loops) == 1
    assert all(7 not in value.aval.shape for value in loops[0].outvars)


def _equations(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from _equations(inner)


@cache
def slcp_values():
    """Compiled (z [K, 5], x, weight) -> log density, theta, log |det dtheta/dz|, log-likelihood."""
    import jax
    import jax.numpy as jnp

    task = load("slcp")
    space = slcp.coordinates(task)

    def at(z, x, weight):
        data = (x, weight)
        theta = space.to_parameter(z, data)
        jacobian = jax.jacfwd(space.to_parameter)(z, data)
        value = space.log_density(z, data)
        return value, theta, jnp.linalg.slogdet(jacobian)[1], task.log_likelihood(theta, x)

    return jax.jit(jax.vmap(at, (0, None, None)))


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0], ids=["inside", "plain", "centre outside the box"])
def test_the_coordinates_of_slcp_are_a_change_of_variables(scale):
    """Their density is likelihood times |det dT/dz|, the latter by automatic differentiation."""
    x, weight = first_observations(scale * observations(load("slcp"), 2), 2)
    z = np.random.default_rng(2).standard_normal((30, 5))
    value, theta, log_det, likelihood = (np.asarray(v) for v in slcp_values()(z, x[0], weight[0]))
    usable = np.isfinite(value)
    assert usable.sum() >= 10
    assert np.all(np.abs(theta) <= 3)
    assert np.all(theta[:, 2:4] > 0)
    value, expected = value[usable], (likelihood + log_det)[usable]
    # The determinant loses digits where the location is pressed against the box.
    np.testing.assert_allclose(value - value[0], expected - expected[0], rtol=1e-6, atol=1e-4)


def test_the_coordinates_of_slcp_shun_what_cannot_be():
    """A box many standard deviations away: density zero, and parameters in the box all the same."""
    x = np.full((2, 8), 40.0)
    z = np.array([[0.3, -0.2, -1.5, -1.5, 0.1], [0.3, -0.2, 1.5, 1.5, 0.1]]).repeat(15, 0)
    value, theta, _, _ = (np.asarray(v) for v in slcp_values()(z, x, np.ones(2)))
    assert np.all(value[:15] == -np.inf)
    assert np.all(np.isfinite(value[15:]))
    assert np.all(np.abs(theta) <= 3)


def test_the_coordinates_of_slcp_refuse_another_box():
    from tallsbi.priors.uniform import Uniform

    class Shifted(type(load("slcp"))):
        prior = Uniform(torch.full((5,), -2.0), torch.full((5,), 3.0))

    with pytest.raises(ValueError, match="centred cube"):
        slcp.coordinates(Shifted())

"""Annealed starts on a Gaussian problem, where the cloud at each power is known."""

import numpy as np
import pytest

from tallsbi.study.references.annealing import START_POWER, dispersed_starts
from tallsbi.study.tasks.base import use_float64

use_float64()
DIM = 2


def run(log_ratio, x, chains, seed):
    import jax

    return jax.jit(lambda data, key: dispersed_starts(log_ratio, data, key, DIM, chains))(
        x, jax.random.key(seed)
    )


def test_starts_are_wider_than_the_posterior_and_the_metric_is_not():
    """Likelihood N(z; c, P^-1): at power s the cloud has precision I + s P and mean (I + s P)^-1 s P c.

    256 particles, of which the moves keep at least 100 independent: five standard errors at that number are
    0.7 of a variance, and half a standard deviation of a mean. A power of 1 or 0.06 instead of 1/4 fails.
    """
    precision = np.array([[400.0, 350.0], [350.0, 400.0]])
    centre = np.array([1.5, -1.0])

    def log_ratio(z, data):
        return -0.5 * (z - data) @ precision @ (z - data)

    starts, metric = (np.asarray(v) for v in run(log_ratio, centre, 256, 1))
    posterior = np.linalg.inv(np.eye(DIM) + precision)
    wide = np.linalg.inv(np.eye(DIM) + START_POWER * precision)
    for sample, exact in ((np.cov(starts.T), wide), (metric, posterior)):
        root = np.linalg.inv(np.linalg.cholesky(exact))
        eigenvalues = np.linalg.eigvalsh(root @ sample @ root.T)
        assert np.all((eigenvalues > 0.4) & (eigenvalues < 1.9))
    mean = wide @ (START_POWER * precision @ centre)
    assert np.all(np.abs(starts.mean(0) - mean) < 0.5 * np.sqrt(np.diag(wide)))


def test_both_modes_are_in_the_cloud():
    """Equal modes 60 of their standard deviations apart: each has a quarter to three quarters of the starts."""
    import jax.numpy as jnp

    def log_ratio(z, data):
        return jnp.logaddexp(*(-0.5 * jnp.sum((z - sign * data) ** 2) / 0.05**2 for sign in (-1, 1)))

    starts, _ = run(log_ratio, np.array([1.5, 0.0]), 64, 2)
    share = float((np.asarray(starts)[:, 0] > 0).mean())
    assert 0.25 < share < 0.75


def test_an_impossible_region_is_left():
    """Half of the prior has likelihood zero; no start lies there."""
    import jax.numpy as jnp

    def log_ratio(z, data):
        return jnp.where(z[0] > 0, -jnp.inf, -0.5 * jnp.sum((z - data) ** 2))

    starts, metric = run(log_ratio, np.zeros(2), 32, 3)
    assert np.all(np.asarray(starts)[:, 0] <= 0)
    assert np.all(np.isfinite(metric))


@pytest.mark.parametrize("chains", [4, 300])
def test_any_number_of_starts(chains):
    starts, _ = run(lambda z, data: -0.5 * ((z - data) ** 2).sum(), np.zeros(2), chains, 4)
    assert starts.shape == (chains, DIM)
    assert len(np.unique(np.asarray(starts), axis=0)) > 0.7 * min(chains, 256)

"""What every reference posterior offers, whatever its method; the truth lies where the posterior says."""

import numpy as np
import pytest
from settings import silent

from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tasks import load

SETTINGS = ChainSettings(
    chains=4, warmup=300, draws=500, max_rhat=1.05, min_ess=200, retries=1, target_accept=0.9
)


def reference(name: str, n: int, sets: int = 2, samples: int = 400):
    data = observations(load(name), sets, n, 5)
    draws = reference_posterior(load(name), data["x"].values, n, samples, SETTINGS, 5, silent)
    return data, draws


@pytest.mark.parametrize(
    ("name", "n", "method"),
    [
        ("gaussian_linear", 5, "closed form"),
        ("gmm", 4, "enumeration"),
        ("two_moons", 8, "grid"),
        ("bernoulli_glm", 4, "NUTS"),
    ],
)
def test_reference_is_certified_and_covers_the_truth(name, n, method):
    """The truth within 6 posterior sd in every coordinate: a false alarm needs a 1e-8 event of a Gaussian."""
    data, draws = reference(name, n)
    assert draws.theta.shape == (2, 400, load(name).dim_theta)
    assert list(draws["method"].values) == [method] * 2
    assert draws.passed.values.all()
    centred = (draws.theta.values.mean(1) - data.theta.values) / draws.theta.values.std(1)
    assert np.abs(centred).max() < 6


def test_closed_form_draws_have_the_posteriors_moments():
    """Mean of 4000 draws within 5 standard errors of the exact one, in 20 coordinates: below 2e-5."""
    data, draws = reference("gaussian_linear", 3, samples=4000)
    task = load("gaussian_linear")
    for b in range(2):
        mean, cov = task.closed_form(data["x"].values[b])
        error = (draws.theta.values[b].mean(0) - mean) / np.sqrt(np.diag(cov) / 4000)
        assert np.abs(error).max() < 5
        ratio = draws.theta.values[b].var(0, ddof=1) / np.diag(cov)
        assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / 4000)


def test_the_same_seed_gives_the_same_draws():
    first, second = (reference("two_moons", 2)[1] for _ in range(2))
    np.testing.assert_array_equal(first.theta, second.theta)

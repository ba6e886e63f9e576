"""The closed form of the linear part against matrix exponentials; the bounds of the constants."""

import numpy as np
import pytest
from jrnmm_oracles import linear_law

from tallsbi.study.tasks.jrnmm.model import Model, noise_covariance, noise_factor, propagator


@pytest.mark.parametrize("k", [50.0, 100.0])
@pytest.mark.parametrize("h", [1e-5, 1 / 1024, 1 / 64])
def test_propagator_and_noise_are_the_exact_ones(k, h):
    transition, covariance = linear_law(k, h)
    np.testing.assert_allclose(propagator(k, h), transition, rtol=1e-12)
    np.testing.assert_allclose(noise_covariance(k, h), covariance, rtol=1e-12)
    factor = noise_factor(k, h)
    assert factor[0, 1] == 0
    np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-12)


def test_very_short_steps_lose_no_digits():
    """Leading order in h: [[h^3 / 3, h^2 / 2], [h^2 / 2, h]]."""
    h = 1e-9
    np.testing.assert_allclose(noise_covariance(100.0, h), [[h**3 / 3, h**2 / 2], [h**2 / 2, h]], rtol=1e-6)


@pytest.mark.parametrize("k", [50.0, 100.0])
def test_two_steps_are_one_of_twice_the_length(k):
    h = 0.003
    P, Q = propagator(k, h), noise_covariance(k, h)
    np.testing.assert_allclose(P @ P, propagator(k, 2 * h), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(P @ Q @ P.T + Q, noise_covariance(k, 2 * h), rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("k", [50.0, 100.0])
def test_in_the_long_run_the_noise_is_stationary(k):
    """Variances 1 / (4 k^3) and 1 / (4 k), uncorrelated."""
    np.testing.assert_allclose(
        noise_covariance(k, 1.0), np.diag([1 / (4 * k**3), 1 / (4 * k)]), rtol=1e-12, atol=1e-18
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"vmax": -1.0}, "vmax=-1.0"), ({"a": 0.0}, "a=0"), ({"b": np.nan}, "b=nan"), ({"r": np.inf}, "r=inf")],
)
def test_impossible_constants_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Model(**settings)

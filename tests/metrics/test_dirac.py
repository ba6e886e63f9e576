"""Distances to a point mass, against closed forms."""

import numpy as np
import pytest

from tallsbi.metrics.dirac import mmd_to_point, scaled_second_moment


def test_scaled_second_moment_of_known_draws():
    theta = np.array([[1.0, 10.0], [3.0, 30.0]])
    truth = np.array([2.0, 0.0])
    # Variances 2 and 200, means 2 and 20.
    np.testing.assert_allclose(
        scaled_second_moment(theta, truth), [2 / np.sqrt(2), (200 + 400) / np.sqrt(200)]
    )


def test_mmd_equals_the_plain_double_sum():
    rng = np.random.default_rng(1)
    theta, truth, scale = rng.standard_normal((30, 3)), np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, 5.0])
    for k in range(3):
        kernel = lambda a, b, k=k: np.exp(-((a - b) ** 2) / (2 * scale[k] ** 2))  # noqa: E731
        within = np.mean([[kernel(a, b) for b in theta[:, k]] for a in theta[:, k]])
        across = np.mean([kernel(a, truth[k]) for a in theta[:, k]])
        expected = np.sqrt(within - 2 * across + 1)
        assert mmd_to_point(theta, truth, scale)[k] == pytest.approx(expected, rel=1e-12)


def test_mmd_of_a_gaussian_has_its_closed_form():
    """E k(a, b) = s / sqrt(s^2 + 2 v), E k(a, truth) = s / sqrt(s^2 + v) for draws of N(truth, v)."""
    rng = np.random.default_rng(2)
    s, v = 2.0, 0.5
    theta = 1.0 + np.sqrt(v) * rng.standard_normal((4000, 1))
    expected = np.sqrt(s / np.sqrt(s**2 + 2 * v) - 2 * s / np.sqrt(s**2 + v) + 1)
    distance = mmd_to_point(theta, np.array([1.0]), np.array([s]))[0]
    assert distance == pytest.approx(expected, rel=0.1)


def test_point_mass_at_the_truth_is_at_distance_zero_and_draws_in_any_order_and_number_agree():
    assert mmd_to_point(np.full((5, 1), 3.0), np.array([3.0]), np.array([1.0]))[0] == 0
    theta = np.random.default_rng(3).standard_normal((2500, 2))
    truth, scale = np.zeros(2), np.ones(2)
    np.testing.assert_allclose(
        mmd_to_point(theta, truth, scale), mmd_to_point(theta[::-1], truth, scale), rtol=1e-9
    )


def test_draws_that_are_not_finite_have_no_distance():
    theta = np.array([[1.0, 2.0], [np.nan, 1.0]])
    assert np.isnan(scaled_second_moment(theta, np.zeros(2))).all()
    assert np.isnan(mmd_to_point(theta, np.zeros(2), np.ones(2))).all()

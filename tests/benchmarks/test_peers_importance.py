"""Importance sampling from the prior on: narrow posteriors, those with a second place, and NLE's in particular."""

import numpy as np
import pytest
import torch

from benchmarks.peers import nle
from benchmarks.peers.importance import tempered_draws


def gaussian(centre, width):
    return lambda theta: -0.5 * np.square((theta - centre) / width).sum(1)


@pytest.mark.parametrize(("m", "width"), [(1, 1.0), (3, 0.002), (10, 0.1)])
def test_draws_of_narrow_posteriors(m, width):
    centre = np.linspace(-1, 1, m)
    likelihood, rng = gaussian(centre, width), np.random.default_rng(0)
    draws, effective = tempered_draws(likelihood, np.zeros(m), np.eye(m), 2000, rng)
    precision = 1 + 1 / width**2
    mean, deviation = centre / width**2 / precision, precision**-0.5
    assert draws.shape == (2000, m)
    assert effective > 800
    assert np.abs((draws.mean(0) - mean) / deviation).max() < 0.15
    assert np.abs(draws.std(0) / deviation - 1).max() < 0.1


def test_the_larger_of_two_places_is_found_from_the_prior():
    def likelihood(theta):
        return np.logaddexp(gaussian(-1.0, 0.01)(theta), 3 + gaussian(1.0, 0.01)(theta))

    draws, _ = tempered_draws(likelihood, np.zeros(1), np.eye(1), 1000, np.random.default_rng(0))
    # The two places are equally likely under the prior and equally wide.
    assert (draws > 0).mean() == pytest.approx(1 / (1 + np.exp(-3)), abs=0.03)


def test_a_likelihood_that_is_not_a_number_somewhere_gets_no_draw_there():
    def likelihood(theta):
        return np.where(theta[:, 0] > 0, np.nan, 0.0)

    draws, _ = tempered_draws(likelihood, np.zeros(1), np.eye(1), 500, np.random.default_rng(0))
    assert (draws <= 0).all()


class Flow:
    """Stands for a trained one: x ~ N(theta, 0.5 I)."""

    def log_prob(self, x, condition):
        return -torch.square(x - condition).sum(-1)


def test_log_likelihoods_of_all_rows_are_added_up():
    x, theta = torch.randn(7, 2), np.random.default_rng(0).standard_normal((50, 2))
    summed = nle.log_likelihood(Flow(), x)(theta)
    expected = -np.square(theta[:, None] - x.numpy()).sum((1, 2))
    np.testing.assert_allclose(summed, expected, rtol=1e-4)


def test_posterior_of_a_flow_is_the_closed_form():
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    x = torch.tensor([1.0, -0.5]) + 0.7 * torch.randn(30, 2, generator=torch.Generator().manual_seed(0))
    draws = nle.draw(Flow(), prior, x, 4000, 0)
    deviation = (1 + 2 * 30) ** -0.5
    mean = 2 * x.sum(0).numpy() * deviation**2
    assert np.abs((draws.mean(0) - mean) / deviation).max() < 0.1
    assert np.abs(draws.std(0) / deviation - 1).max() < 0.06

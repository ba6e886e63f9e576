"""The exact tall posterior of a Gaussian mean against the product of its factors on a grid."""

import numpy as np
import pytest
import scipy.stats
import torch
from oracles import GaussianCase

from tallsbi.priors.gaussian import Gaussian, tall_posterior


def grid_moments(case, b, axes):
    """Mean and covariance of prior times n likelihoods, normalised by summation over a grid."""
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, case.m)
    log_p = scipy.stats.multivariate_normal(case.mean[b], case.cov[b]).logpdf(points)
    for x in case.x[b]:
        log_p = log_p + scipy.stats.multivariate_normal(x, case.noise).logpdf(points)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    mean = weight @ points
    return mean, (points - mean).T @ (weight[:, None] * (points - mean))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 1), (1, 2), (5, 2)])
def test_it_is_the_normalised_product(n, m):
    case = GaussianCase(2, n, m)
    mean, cov = tall_posterior(case.prior(), torch.from_numpy(case.noise), case.observations())
    for b in range(2):
        sd = np.sqrt(np.diag(cov[b]))
        axes = [np.linspace(c - 8 * s, c + 8 * s, 301) for c, s in zip(mean[b].numpy(), sd, strict=True)]
        expected_mean, expected_cov = grid_moments(case, b, axes)
        assert mean[b].numpy() == pytest.approx(expected_mean, rel=1e-8, abs=1e-8)
        assert cov[b].numpy() == pytest.approx(expected_cov, rel=1e-8, abs=1e-8)


def test_one_prior_for_all_datasets():
    case = GaussianCase(3, 4, 2)
    prior = Gaussian(torch.from_numpy(case.mean[0]), torch.from_numpy(case.cov[0]))
    mean, cov = tall_posterior(prior, torch.from_numpy(case.noise), case.observations())
    assert mean.shape == (3, 2)
    assert cov.shape == (3, 2, 2)
    case.mean[:], case.cov[:] = case.mean[0], case.cov[0]
    torch.testing.assert_close(mean, torch.from_numpy(case.posterior()[0]))

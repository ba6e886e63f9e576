"""The Gaussian prior against scipy, differentiation and its own definition."""

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import check_gaussian_draws, few_examples, generator, random_covariance

from tallsbi.priors.gaussian import Gaussian
from tallsbi.schedule import NETWORK, TOY


def priors(B, m, seed=0):
    rng = np.random.default_rng(seed)
    cov = np.stack([random_covariance(rng, m, 0.1, 10.0) for _ in range(B)])
    return Gaussian(torch.from_numpy(rng.uniform(-3, 3, (B, m))), torch.from_numpy(cov))


def test_log_prob_is_scipys():
    prior = priors(1, 3)
    theta = torch.randn(4, 5, 3, generator=generator(), dtype=torch.float64)
    expected = scipy.stats.multivariate_normal(prior.mean[0], prior.cov[0]).logpdf(theta)
    assert prior.log_prob(theta).numpy() == pytest.approx(expected, rel=1e-12)
    assert prior.log_prob(theta[0, 0]).shape == ()


@few_examples
@given(st.floats(1e-4, 1), st.sampled_from([1, 2, 5]), st.integers(0, 1000))
def test_score_is_the_gradient_of_the_diffused_log_density(t, m, seed):
    prior = priors(3, m, seed)
    theta = torch.randn(3, 4, m, generator=generator(seed), dtype=torch.float64, requires_grad=True)
    cov = NETWORK.alpha(t) * prior.cov + NETWORK.sigma2(t) * torch.eye(m, dtype=torch.float64)
    diffused = torch.distributions.MultivariateNormal(
        NETWORK.sqrt_alpha(t) * prior.mean[:, None], cov[:, None]
    )
    (gradient,) = torch.autograd.grad(diffused.log_prob(theta).sum(), theta)
    torch.testing.assert_close(
        prior.diffused_score(theta.detach(), t, NETWORK), gradient, rtol=1e-9, atol=1e-9
    )


@few_examples
@given(st.floats(0.01, 0.8), st.sampled_from([1, 2, 5]), st.integers(0, 1000))
def test_precision_is_the_jacobian_formula(t, m, seed):
    """P = (alpha / sigma^2)(I + sigma^2 J)^-1 with J = -(alpha C + sigma^2 I)^-1."""
    prior = priors(2, m, seed)
    eye = torch.eye(m, dtype=torch.float64)
    jacobian = -torch.linalg.inv(TOY.alpha(t) * prior.cov + TOY.sigma2(t) * eye)
    expected = TOY.alpha(t) / TOY.sigma2(t) * torch.linalg.inv(eye + TOY.sigma2(t) * jacobian)
    precision = prior.backward_precision(torch.zeros(2, 1, m, dtype=torch.float64), t, TOY)
    torch.testing.assert_close(precision[:, 0], expected, rtol=1e-7, atol=1e-7 * TOY.alpha(t) / TOY.sigma2(t))


def test_excess_precision_is_the_inverse_covariance():
    prior = priors(2, 4)
    _, excess = prior.score_and_excess(torch.zeros(2, 1, 4, dtype=torch.float64), 0.3, TOY)
    torch.testing.assert_close(excess[:, 0] @ prior.cov, torch.eye(4, dtype=torch.float64).expand(2, 4, 4))


def test_one_prior_serves_all_datasets():
    one = priors(1, 3)
    same = Gaussian(one.mean.expand(4, -1), one.cov.expand(4, -1, -1))
    theta = torch.randn(4, 2, 3, generator=generator(), dtype=torch.float64)
    torch.testing.assert_close(one.diffused_score(theta, 0.4, TOY), same.diffused_score(theta, 0.4, TOY))


def test_normalised_is_the_prior_of_the_standardised_parameter():
    prior = priors(1, 3)
    mean, std = torch.tensor([1.0, -2, 0.5]).double(), torch.tensor([0.3, 2, 5.0]).double()
    theta = torch.randn(6, 3, generator=generator(), dtype=torch.float64)
    shifted = prior.normalised(mean, std).log_prob((theta - mean) / std) - std.log().sum()
    torch.testing.assert_close(shifted, prior.log_prob(theta))


def test_repeat_keeps_datasets_together():
    prior = priors(2, 3)
    repeated = prior.repeat(3)
    assert bool((repeated.mean == prior.mean[[0, 0, 0, 1, 1, 1]]).all())
    assert priors(1, 3).repeat(5).mean.shape == (1, 3)


def test_draws_have_the_right_moments():
    """Whitened mean and covariance within five standard errors: false alarms below 1e-5."""
    prior = priors(1, 3)
    check_gaussian_draws(prior.sample(20_000, generator(2)), prior.mean[0].numpy(), prior.cov[0].numpy(), z=5)


def test_a_batch_of_priors_has_no_single_density():
    with pytest.raises(ValueError, match="batch of 2"):
        priors(2, 3).log_prob(torch.zeros(3, dtype=torch.float64))


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="positive definite"):
        Gaussian(torch.zeros(2), torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises((ValueError, TypeError)):  # the run-time check of shapes comes first
        Gaussian(torch.zeros(2, 3), torch.eye(3).expand(4, 3, 3))


def test_standard_and_conversion():
    prior = Gaussian.standard(3).to(dtype=torch.float64)
    assert prior.mean.dtype == prior.cov.dtype == torch.float64
    theta = torch.randn(1, 4, 3, generator=generator(), dtype=torch.float64)
    # N(0, I) stays N(0, I) under a variance-preserving diffusion, up to the floor.
    torch.testing.assert_close(prior.diffused_score(theta, 0.5, TOY), -theta / (1 + TOY.floor))

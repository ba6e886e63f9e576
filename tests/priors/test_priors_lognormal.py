"""The log-normal prior is a Gaussian of the logarithm."""

import numpy as np
import pytest
import scipy.stats
import torch
from oracles import check_gaussian_draws, generator

from tallsbi.priors.lognormal import LogNormal
from tallsbi.schedule import NETWORK

LOC, SCALE = torch.tensor([-0.1, 2.0]).double(), torch.tensor([0.5, 0.2]).double()


def test_log_prob_is_scipys():
    theta = torch.rand(7, 2, generator=generator(), dtype=torch.float64) * 10 + 0.01
    expected = scipy.stats.lognorm.logpdf(theta.numpy(), SCALE.numpy(), scale=np.exp(LOC.numpy())).sum(-1)
    assert LogNormal(LOC, SCALE).log_prob(theta).numpy() == pytest.approx(expected, rel=1e-12)


def test_no_mass_outside_the_positive_numbers():
    theta = torch.tensor([[1.0, -1.0], [0.0, 1.0]]).double()
    assert bool((LogNormal(LOC, SCALE).log_prob(theta) == -torch.inf).all())


def test_score_and_precision_are_the_gaussians_of_the_logarithm():
    prior = LogNormal(LOC, SCALE)
    latent = prior.to_latent(prior.sample(6, generator()))[None]
    cov = NETWORK.alpha(0.1) * torch.diag(SCALE**2) + NETWORK.sigma2(0.1) * torch.eye(2)
    score, excess = prior.score_and_excess(latent, 0.1, NETWORK)
    torch.testing.assert_close(score, (NETWORK.sqrt_alpha(0.1) * LOC - latent) @ torch.linalg.inv(cov))
    torch.testing.assert_close(excess[0, 0], torch.diag(1 / SCALE**2))
    assert prior.constant_precision


def test_maps_between_the_spaces_are_inverse():
    prior = LogNormal(LOC, SCALE)
    theta = prior.sample(5, generator())
    torch.testing.assert_close(prior.to_parameter(prior.to_latent(theta)), theta)


def test_draws_are_gaussian_in_log_space():
    """Five standard errors: false alarms below 1e-5."""
    draws = LogNormal(LOC, SCALE).sample(10_000, generator(3)).log()
    check_gaussian_draws(draws, LOC.numpy(), np.diag(SCALE.numpy() ** 2), z=5)


def test_normalised_is_the_standardised_logarithm():
    prior = LogNormal(LOC, SCALE)
    theta = prior.sample(5, generator())
    standard = prior.normalised(LOC, SCALE)
    expected = scipy.stats.norm.logpdf(((theta.log() - LOC) / SCALE).numpy()).sum(-1)
    assert standard.log_prob((theta.log() - LOC) / SCALE).numpy() == pytest.approx(expected)


def test_scale_must_be_positive():
    with pytest.raises(ValueError, match="positive"):
        LogNormal(LOC, -SCALE)

"""DET_GEF: what it does is a linear recursion in the Gaussian case, and that recursion is biased.

Finding. The sampler gives all coordinates one variance per step, and a Gaussian with isotropic covariances
is the case in which that might be thought harmless. It is not: for n > 1 the law it converges to as T grows
is not the tall posterior, also for isotropic Gaussians. With prior N(0, 1), posterior variance 1/2 and n = 8
its variance is 0.60 of the exact one at T = 1000 and at T = 4000 alike; for large n the factor tends to
about one half. It is exact in the limit T -> infinity for n = 1, and as the posteriors approach the prior.
"""

import numpy as np
import pytest
import torch
from oracles import GaussianCase, ancestral_law, check_gaussian_draws, generator

from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.det_gef import DetGef


def isotropic(n, m, noise, B=2):
    """Prior N(mean, I), observations of variance `noise`: every posterior is isotropic."""
    case = GaussianCase(B, n, m)
    case.cov, case.noise = np.tile(np.eye(m), (B, 1, 1)), noise * np.eye(m)
    return case


def correlated(n, m, correlation):
    case = isotropic(n, m, 1.0)
    case.noise = (1 - correlation) * np.eye(m) + correlation
    return case


def variance_ratio(case, steps):
    """Variance of the recursion's law over that of the tall posterior, in the first coordinate."""
    return ancestral_law(case, steps)[1][0, 0, 0] / case.posterior()[1][0, 0, 0]


def distortion(case, steps=1000):
    """Largest over smallest variance of the sampler's law in coordinates that whiten the tall posterior."""
    factor = np.linalg.cholesky(case.posterior()[1][0])
    white = np.linalg.solve(factor, np.linalg.solve(factor, ancestral_law(case, steps)[1][0]).T)
    values = np.linalg.eigvalsh(0.5 * (white + white.T))
    return values[-1] / values[0]


@pytest.mark.parametrize("n", [1, 2, 8, 30])
def test_a_step_multiplies_the_reverse_kernels(n):
    """The product of the kernels written as in its derivation: n means, n - 1 shared kernels divided out."""
    case = GaussianCase(2, n, 3)
    t, s = 0.5, 0.49
    theta, gamma = case.states(t), case.schedule.alpha(t) / case.schedule.alpha(s)
    scores, prior_score = case.bound()(theta, t), case.prior().diffused_score(theta, t, case.schedule)
    D = n - gamma * (n - 1)
    reverse = (n * theta + (1 - gamma) * scores.sum(2)) / np.sqrt(gamma)
    mean = (reverse - (n - 1) * np.sqrt(gamma) * theta) / D + (1 - gamma) / D * (1 - n) * prior_score
    z = Noise([generator()], torch.float64)(*theta.shape)
    tall = FactorisedScore(case.bound(), case.prior(), 2)
    step = DetGef(steps=100).step(tall, theta, t, s, Noise([generator()], torch.float64))
    torch.testing.assert_close(step, mean + np.sqrt((1 - gamma) / D) * z, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 4])
def test_draws_follow_the_recursion(n):
    """Mean and covariance within five standard errors of the recursion's: false alarms below 1e-5."""
    case = GaussianCase(2, n, 2)
    tall = FactorisedScore(case.bound(), case.prior(), 2)
    result = DetGef(steps=200).run(tall, 4000, Noise([generator(6)], torch.float64))
    mean, cov = ancestral_law(case, 200)
    for b in range(2):
        check_gaussian_draws(result.theta[b], mean[b], cov[b], z=5)


def test_one_observation_converges_to_the_posterior():
    """Ancestral sampling: the error in the covariance halves when T doubles, anisotropic or not."""
    case = GaussianCase(2, 1, 3)
    exact_mean, exact_cov = case.posterior()
    errors = []
    for steps in (500, 1000, 2000):
        mean, cov = ancestral_law(case, steps)
        errors.append(np.abs(cov - exact_cov).max())
        assert np.abs(mean - exact_mean).max() < 1e-3
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.1)
    assert errors[2] < 2e-3


@pytest.mark.parametrize("n", [2, 8, 32])
def test_it_is_exact_as_the_posteriors_approach_the_prior(n):
    """Isotropic, noise variance 10^3 to 10^5: the bias vanishes with the information in the data."""
    ratios = [variance_ratio(isotropic(n, 2, noise), 2000) for noise in (10.0, 1e3, 1e5)]
    bias = [abs(ratio - 1) for ratio in ratios]
    assert bias[1] < 1e-3
    assert bias[2] < 1e-4
    assert bias[0] > 10 * bias[1]


def test_isotropic_gaussians_are_biased_for_more_than_one_observation():
    """The finding: variance 0.60 of the exact one at n = 8, and more steps do not help."""
    case = isotropic(8, 2, 1.0)
    assert variance_ratio(case, 1000) == pytest.approx(0.604, abs=0.005)
    assert variance_ratio(case, 4000) == pytest.approx(0.601, abs=0.005)
    assert variance_ratio(isotropic(2, 2, 1.0), 1000) == pytest.approx(0.878, abs=0.005)
    assert variance_ratio(isotropic(100, 2, 1.0), 4000) == pytest.approx(0.5, abs=0.03)


def test_the_mean_is_biased_as_well():
    case = isotropic(32, 1, 10.0)
    shift = np.abs(ancestral_law(case, 1000)[0] - case.posterior()[0]) / np.sqrt(case.posterior()[1][..., 0])
    assert shift.max() > 0.3


def test_isotropic_in_isotropic_out():
    """The bias has no direction there: the covariance stays a multiple of the identity."""
    cov = ancestral_law(isotropic(8, 3, 1.0), 300)[1]
    assert np.abs(cov - cov[:, :1, :1] * np.eye(3)).max() < 1e-12
    assert distortion(isotropic(8, 3, 1.0)) == pytest.approx(1, abs=1e-8)


def test_correlated_posteriors_are_distorted_more_the_stronger_the_correlation():
    """Anisotropic: directions are biased differently, so the correlations come out wrong too."""
    none, weak, strong = (distortion(correlated(8, 3, rho)) for rho in (0.0, 0.4, 0.8))
    assert none < weak < strong
    assert strong > 1.1

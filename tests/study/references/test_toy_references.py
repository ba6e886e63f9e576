"""Reference posteriors of the mixture: enumeration against quadrature, MALA against both."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch
from oracles import check_gaussian_draws, generator
from settings import toy_cell

from tallsbi.priors.gaussian import tall_posterior
from tallsbi.study.references.toy import (
    MAX_ENUMERATED,
    _spread_out,
    certified_mala,
    enumerate_mixture,
    mixture_log_density,
    reference_draws,
)
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks.toy import make_toy

CHAINS = ChainSettings(
    chains=40, warmup=300, draws=100, target_accept=0.57, max_rhat=1.02, min_ess=1000, retries=1
)


def noise(m):
    return torch.tensor([[2.25], [1 / 9]], dtype=torch.float64) * torch.linspace(
        0.6, 1.4, m, dtype=torch.float64
    )


def log_posterior(points, x):
    """log prior + sum of log likelihoods at points [N, m], from the definition of the model."""
    value = scipy.stats.norm.logpdf(points).sum(-1)
    for observation in x:
        components = [
            scipy.stats.norm.logpdf(observation, points, np.sqrt(v.numpy())).sum(-1)
            for v in noise(points.shape[1])
        ]
        value = value + np.logaddexp(*components) + np.log(0.5)
    return value


def quadrature_1d(x):
    """Grid, distribution function, mean and standard deviation."""
    grid = np.linspace(-8, 8, 20_001)
    density = np.exp(log_posterior(grid[:, None], x))
    density /= density.sum()
    mean = density @ grid
    return grid, np.cumsum(density), mean, np.sqrt(density @ (grid - mean) ** 2)


# Two pairs of observations apart from each other: the posterior has several modes.
MULTIMODAL = np.array([[-1.2], [-1.0], [1.6], [1.7]])
PLAIN = np.array([[0.3], [0.9], [0.1]])


def test_the_multimodal_case_is_one():
    grid = np.linspace(-4, 4, 801)
    value = log_posterior(grid[:, None], MULTIMODAL)
    peaks = (value[1:-1] > value[:-2]) & (value[1:-1] > value[2:])
    assert peaks.sum() >= 2


@pytest.mark.parametrize("x", [PLAIN, MULTIMODAL], ids=["plain", "multimodal"])
def test_enumeration_is_the_posterior_in_one_dimension(x):
    """Kolmogorov-Smirnov with 20 000 draws at level 1e-4, and both moments within five standard errors."""
    draws = enumerate_mixture(torch.from_numpy(x)[None], noise(1), 20_000, generator(1))[0, :, 0].numpy()
    grid, cdf, mean, sd = quadrature_1d(x)
    assert scipy.stats.kstest(draws, lambda v: np.interp(v, grid, cdf)).pvalue > 1e-4
    assert abs(draws.mean() - mean) < 5 * sd / np.sqrt(20_000)
    assert draws.std() == pytest.approx(sd, rel=5 / np.sqrt(20_000))


def test_enumeration_is_the_posterior_in_two_dimensions():
    """Mean and covariance against a grid, within five standard errors; every dataset its own data."""
    x = torch.randn(2, 3, 2, generator=generator(2), dtype=torch.float64)
    draws = enumerate_mixture(x, noise(2), 20_000, generator(3)).numpy()
    axis = np.linspace(-6, 6, 601)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    for b in range(2):
        weight = np.exp(log_posterior(points, x[b].numpy()))
        weight /= weight.sum()
        mean = weight @ points
        cov = (points - mean).T @ (weight[:, None] * (points - mean))
        assert np.all(np.abs(draws[b].mean(0) - mean) < 5 * np.sqrt(np.diag(cov) / 20_000))
        fourth = weight @ (points - mean) ** 4
        error = np.sqrt((fourth - np.diag(cov) ** 2) / 20_000)
        assert np.all(np.abs(draws[b].var(0) - np.diag(cov)) < 5 * error)
        product = (points - mean).prod(-1)
        cross_error = np.sqrt((weight @ product**2 - cov[0, 1] ** 2) / 20_000)
        assert abs(np.cov(draws[b].T)[0, 1] - cov[0, 1]) < 5 * cross_error


def test_the_target_of_mala_is_the_posterior():
    x = torch.randn(2, 5, 3, generator=generator(4), dtype=torch.float64)
    theta = torch.randn(2, 4, 3, generator=generator(5), dtype=torch.float64, requires_grad=True)
    log_p, gradient = mixture_log_density(x, noise(3))(theta)
    (expected,) = torch.autograd.grad(log_p.sum(), theta)
    torch.testing.assert_close(gradient, expected)
    for b in range(2):
        difference = log_p[b].detach().numpy() - log_posterior(theta[b].detach().numpy(), x[b].numpy())
        assert difference == pytest.approx(np.full(4, difference[0]))


def test_mala_agrees_with_quadrature_and_enumeration():
    """12 observations in one dimension, 4000 well separated draws, KS at level 1e-4 for each comparison.

    The draws are thinned chains: their effective number, about 3000, is what the certificate asks for.
    """
    toy = make_toy(toy_cell("mixture", 1, 1), 12, 3)
    settings = replace(CHAINS, chains=400, draws=10)
    draws, certificates = certified_mala(toy.x, toy.noise_components, 1000, settings, generator(6))
    assert certificates[0].passed
    # The study's diagonal for m = 1 is its lower end.
    scale = toy.noise_components / noise(1)
    assert bool((scale == 1).all())
    grid, cdf, mean, sd = quadrature_1d(toy.x[0].numpy())
    sample = draws[0, :, 0].numpy()
    assert scipy.stats.kstest(sample, lambda v: np.interp(v, grid, cdf)).pvalue > 1e-4
    assert abs(sample.mean() - mean) < 5 * sd / np.sqrt(500)
    assert sample.std() == pytest.approx(sd, rel=5 / np.sqrt(500))
    enumerated = enumerate_mixture(toy.x, toy.noise_components, 4000, generator(7))[0, :, 0].numpy()
    assert scipy.stats.ks_2samp(sample, enumerated).pvalue > 1e-4


def test_chains_that_do_not_agree_are_marked(caplog):
    """Too few iterations: the result comes with a failed certificate and a warning, not with an exception."""
    x = torch.randn(1, 12, 3, generator=generator(8), dtype=torch.float64)
    settings = replace(CHAINS, chains=4, warmup=1, draws=10)
    draws, certificates = certified_mala(x, noise(3), 20, settings, generator(9))
    assert not certificates[0].passed
    assert draws.shape == (1, 20, 3)
    assert "not certified" in caplog.text
    assert certificates[0].notes["iterations"] == 2 * (1 + 10 * 5)


def test_reference_draws_are_taken_evenly_from_all_chains():
    draws = torch.arange(24.0).reshape(1, 4, 6, 1)  # chain c, draw i: 6 c + i
    picked = _spread_out(draws, 8)[0, :, 0]
    assert len(set(picked.tolist())) == 8
    assert {int(value) // 6 for value in picked} == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="25 reference draws"):
        _spread_out(draws, 25)


@pytest.mark.parametrize("problem", ["gaussian-wide", "mixture"])
def test_reference_draws_come_with_certificates(problem):
    toy = make_toy(toy_cell(problem, 2), MAX_ENUMERATED + 2, 1)
    data = reference_draws(toy, [2, MAX_ENUMERATED + 2], 300, CHAINS, 1)
    assert data.theta.dims == ("n", "seed", "sample", "parameter")
    assert data.theta.shape == (2, 2, 300, 2)
    assert bool(data.passed.all())
    methods = data.method.values[:, 0].tolist()
    assert methods == (["closed form"] * 2 if problem == "gaussian-wide" else ["enumeration", "MALA"])
    assert bool(np.isfinite(data.theta).all())


def test_gaussian_reference_draws_are_exact():
    """Five standard errors: false alarms below 1e-5."""
    toy = make_toy(toy_cell("gaussian-wide", 2), 4, 1)
    data = reference_draws(toy, [4], 5000, CHAINS, 1)
    mean, cov = tall_posterior(toy.prior, toy.noise_cov, toy.x)
    for b in range(2):
        check_gaussian_draws(data.theta[0, b].values, mean[b].numpy(), cov[b].numpy(), z=5)

"""MALA leaves its target invariant and finds it from elsewhere."""

import numpy as np
import pytest
import scipy.stats
import torch
from oracles import GaussianCase, check_gaussian_draws, generator

from tallsbi.study.references.mala import mala


def gaussian_target(mean, cov):
    precision = torch.linalg.inv(cov)

    def target(theta):
        residual = theta - mean[:, None]
        pull = residual @ precision
        return -0.5 * (pull * residual).sum(-1), -pull

    return target


def case_target(B=2):
    case = GaussianCase(B, 4, 2)
    mean, cov = (torch.from_numpy(value) for value in case.posterior())
    return mean, cov, gaussian_target(mean, cov)


def run(target, start, scale, **settings):
    defaults = {"warmup": 0, "draws": 1, "thin": 1, "target_accept": 0.57, "generator": generator(1)}
    return mala(target, start, scale, **{**defaults, **settings})


def test_exact_draws_stay_exact():
    """Started in the target, without adaptation, 4000 chains after 5 steps: five standard errors (1e-5)."""
    mean, cov, target = case_target()
    z = torch.randn(2, 4000, 2, generator=generator(), dtype=torch.float64)
    start = mean[:, None] + z @ torch.linalg.cholesky(cov).mT
    chains = run(target, start, torch.ones(1, 2, dtype=torch.float64) * 0.1, thin=5)
    for b in range(2):
        check_gaussian_draws(chains.draws[b, :, 0], mean[b].numpy(), cov[b].numpy(), z=5)
    assert bool(((chains.acceptance > 0.3) & (chains.acceptance < 0.99)).all())


def test_it_finds_the_target_from_elsewhere():
    mean, cov, target = case_target()
    start = torch.zeros(2, 3000, 2, dtype=torch.float64) + 3
    scale = torch.diagonal(cov, dim1=1, dim2=2)
    chains = run(target, start, scale, warmup=150)
    for b in range(2):
        check_gaussian_draws(chains.draws[b, :, 0], mean[b].numpy(), cov[b].numpy(), z=5)


def test_a_skewed_target_is_sampled_exactly():
    """Gumbel, log p = -x - exp(-x): asymmetric proposals need the full Hastings ratio. KS at level 1e-4."""

    def target(theta):
        return (-theta - torch.exp(-theta)).sum(-1), -1 + torch.exp(-theta)

    start = torch.from_numpy(scipy.stats.gumbel_r.rvs(size=(1, 5000, 1), random_state=3))
    chains = run(target, start, torch.ones(1, 1, dtype=torch.float64), thin=10)
    assert scipy.stats.kstest(chains.draws[0, :, 0, 0], scipy.stats.gumbel_r.cdf).pvalue > 1e-4


@pytest.mark.parametrize("scale", [1e-3, 50.0])
def test_warm_up_reaches_the_target_acceptance(scale):
    _, cov, target = case_target()
    start = torch.zeros(2, 200, 2, dtype=torch.float64)
    chains = run(target, start, scale * torch.diagonal(cov, dim1=1, dim2=2), warmup=300, draws=50)
    assert chains.acceptance.numpy() == pytest.approx([0.57, 0.57], abs=0.05)


def test_draws_are_thinned_and_ordered():
    _, _, target = case_target()
    start = torch.zeros(2, 5, 2, dtype=torch.float64)
    fine = run(target, start, torch.ones(1, 2, dtype=torch.float64), draws=12)
    coarse = run(target, start, torch.ones(1, 2, dtype=torch.float64), draws=4, thin=3)
    assert fine.draws.shape == (2, 5, 12, 2)
    assert torch.equal(coarse.draws, fine.draws[:, :, 2::3])


def test_impossible_proposals_are_rejected():
    """A target that is NaN outside a box: the chain stays inside."""

    def target(theta):
        inside = (theta.abs() < 1).all(-1)
        return torch.where(inside, 0.0, torch.nan), torch.zeros_like(theta)

    chains = run(
        target, torch.zeros(1, 500, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64), thin=30
    )
    last = chains.draws[0, :, 0, 0].numpy()
    assert np.abs(last).max() < 1
    assert scipy.stats.kstest(last, scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-4

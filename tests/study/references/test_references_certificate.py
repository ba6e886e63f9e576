"""Certificates pass for independent draws and fail for chains that disagree or crawl."""

import numpy as np
import pytest

from tallsbi.study.references.certificate import certify, exact

LIMITS = {"method": "test", "acceptance": 0.6, "iterations": 100, "max_rhat": 1.01, "min_ess": 1000}


def draws(chains=8, count=500, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((chains, count, m))


def test_independent_draws_pass():
    certificate = certify(draws(), **LIMITS)
    assert certificate.passed
    assert certificate.rhat < 1.005
    assert 2500 < certificate.ess_bulk < 6000  # 4000 draws


def test_chains_stuck_in_two_modes_fail():
    chains = draws()
    chains[4:, :, 1] += 6  # every second coordinate of half the chains
    certificate = certify(chains, **LIMITS)
    assert not certificate.passed
    assert certificate.rhat > 1.5
    assert certificate.ess_bulk < 50


def test_slow_chains_fail():
    """An autoregression with coefficient 0.98 has one independent draw in about a hundred."""
    noise = draws()
    chains = np.zeros_like(noise)
    for i in range(1, noise.shape[1]):
        chains[:, i] = 0.98 * chains[:, i - 1] + np.sqrt(1 - 0.98**2) * noise[:, i]
    certificate = certify(chains, **LIMITS)
    assert not certificate.passed
    assert certificate.ess_bulk < 200


def test_the_worst_coordinate_counts():
    chains = draws(m=5)
    good = certify(chains, **LIMITS)
    chains[0, :, 3] += 3
    bad = certify(chains, **LIMITS)
    assert good.passed
    assert not bad.passed


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("coordinate", [0, 1])
def test_a_constant_coordinate_does_not_pass(coordinate):
    chains = draws()
    chains[..., coordinate] = 1.0
    assert not certify(chains, **LIMITS).passed


@pytest.mark.parametrize("coordinate", [0, 1])
def test_not_a_number_does_not_pass(coordinate):
    chains = draws()
    chains[0, 10, coordinate] = np.nan
    assert not certify(chains, **LIMITS).passed


def test_exact_draws_need_no_diagnosis():
    certificate = exact("closed form")
    assert certificate.passed
    assert certificate.as_dict()["method"] == "closed form"
    assert set(certificate.as_dict()) == set(certify(draws(), **LIMITS).as_dict())

"""The comparison on the exact score: what it compares on is what it says."""

import numpy as np
import pytest
import torch

from benchmarks.__main__ import names
from benchmarks.peers import exact_score as peers


def test_it_is_none_of_the_speed_benchmarks():
    assert "peers" not in names()


def test_exact_draws_are_white():
    x = peers.simulator(torch.zeros(30, peers.M))
    mean, factor = peers.exact(x)
    draws = mean + torch.randn(20_000, peers.M, dtype=torch.float64) @ factor.mT
    white = peers.whitened(draws, x)
    assert np.abs(white.mean(0)).max() < 5 / np.sqrt(20_000)
    assert np.abs(np.cov(white.T) - np.eye(peers.M)).max() < 5 * np.sqrt(2 / 20_000)


def test_the_exact_estimator_has_the_gradient_of_the_diffused_posterior():
    estimator, x, time = peers.exact_estimator(), torch.tensor([[0.7, -0.2]]), torch.tensor([0.4])
    theta = torch.tensor([[0.3, 0.9]], requires_grad=True)
    mu, s = estimator.mean_t_fn(time).item(), estimator.std_fn(time).item()
    mean, factor = peers.exact(x)
    cov = (mu**2 * factor @ factor.mT + s**2 * torch.eye(2)).float()
    torch.distributions.MultivariateNormal(mu * mean.float(), cov).log_prob(theta).sum().backward()
    torch.testing.assert_close(estimator.score(theta.detach(), x, time), theta.grad, rtol=1e-4, atol=1e-5)


def test_ours_are_near_the_exact_posterior_and_rows_say_so(capsys):
    from tallsbi import TallPosterior

    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    posterior = TallPosterior.from_sbi(peers.exact_estimator(), prior)
    (ours,) = [c for c in peers.our_methods(posterior, "exact", 50) if c.method == "GAUSS_PD"]
    torch.manual_seed(0)
    rows = peers.measure([ours], [peers.simulator(torch.zeros(10, 2))], 200, print)
    assert rows[0][:3] == ["exact", "GAUSS_PD", "50 + 30"]
    assert float(rows[0][4]) < 0.3
    assert float(rows[0][5]) == pytest.approx(1, abs=0.25)
    assert rows[0][3] == "0.0%"
    assert rows[1][1] == "exact draws"
    table = peers.markdown(rows).splitlines()
    assert len(table) == 4
    assert {line.count("|") for line in table} == {len(peers.COLUMNS) + 1}


def test_strays_are_counted_and_left_out():
    rng = np.random.default_rng(0)
    drawn, reference = rng.standard_normal((200, 2)), rng.standard_normal((200, 2))
    drawn[:3], drawn[3] = 1e20, np.nan
    strays, off, spread, *_ = peers._errors([drawn], [reference])
    assert strays == "2.0%"
    assert float(off) < 0.4
    assert float(spread) == pytest.approx(1, abs=0.2)
    assert peers._errors([np.full((200, 2), np.nan)], [reference]) == ["100.0%", "", "", "", ""]

"""Sets as rows: what is in them, what is not, and that composing blocks gives the posterior of all observations."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from oracles import generator

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.gauss import Gauss
from tallsbi.compose.gauss import GaussScore
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK
from tallsbi.scores.base import BoundScore, Score
from tallsbi.scores.group_network import GroupArchitecture, GroupNetwork
from tallsbi.scores.groups import GroupEncoding, block_sizes
from tallsbi.scores.network_eval import NetworkScore


def test_mean_is_that_of_the_members_with_the_size_beside_it():
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [90.0, 90.0]], [[5.0, 6.0], [90.0, 90.0], [90.0, 90.0]]])
    rows = GroupEncoding("mean", 3).rows(x, torch.tensor([2, 1]))
    assert rows.tolist() == [[2, 3, 0, 1, 0], [5, 6, 1, 0, 0]]


def test_deep_set_has_every_member_and_zeros_in_empty_places():
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [90.0, 90.0]]])
    rows = GroupEncoding("deep_set", 3).rows(x, torch.tensor([2]))
    assert rows.tolist() == [[1, 2, 3, 4, 0, 0, 0, 1, 0]]


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
def test_logarithms_are_taken_member_by_member(kind):
    x = torch.rand(4, 3, 2, generator=generator(1), dtype=torch.float64) + 0.1
    sizes = torch.tensor([1, 2, 3, 3])
    torch.testing.assert_close(
        GroupEncoding(kind, 3, log_x=True).rows(x, sizes), GroupEncoding(kind, 3).rows(x.log(), sizes)
    )
    with pytest.raises(ValueError, match="only positive"):
        GroupEncoding(kind, 3, log_x=True).rows(-x, sizes)


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
@pytest.mark.parametrize("log_x", [False, True])
def test_nothing_in_an_empty_place_is_read(kind, log_x):
    x = torch.rand(3, 4, 2, generator=generator(1)) + 0.1
    other = x.clone()
    other[0, 1:], other[1, 3:] = torch.nan, -7.0
    encoding, sizes = GroupEncoding(kind, 4, log_x), torch.tensor([1, 3, 4])
    assert torch.equal(encoding.rows(x, sizes), encoding.rows(other, sizes))


@pytest.mark.parametrize(
    ("n", "n_max", "sizes"),
    [(8, 3, [3, 3, 2]), (30, 6, [6] * 5), (30, 30, [30]), (5, 30, [5]), (2, 1, [1, 1])],
)
def test_blocks_are_consecutive_and_the_last_one_takes_the_remainder(n, n_max, sizes):
    assert block_sizes(n, n_max).tolist() == sizes
    x = torch.randn(2, n, 3, generator=generator(n), dtype=torch.float64)
    rows = GroupEncoding("mean", n_max).blocks(x)
    assert rows.shape == (2, len(sizes), 3 + n_max)
    starts = np.cumsum([0, *sizes])
    for b, (start, stop) in enumerate(pairwise(starts)):
        torch.testing.assert_close(rows[:, b, :3], x[:, start:stop].mean(1))
        assert (rows[:, b, 3:].argmax(-1) + 1 == stop - start).all()


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match=r"'median'.*mean, deep_set"):
        GroupEncoding("median", 3)
    with pytest.raises(ValueError, match="n_max = 0"):
        GroupEncoding("mean", 0)
    with pytest.raises(ValueError, match="between 1 and 4"):
        GroupEncoding("mean", 3).rows(torch.ones(2, 3, 1), torch.tensor([1, 4]))
    with pytest.raises(ValueError, match="2 places"):
        GroupEncoding("mean", 3).rows(torch.ones(2, 2, 1), torch.tensor([1, 1]))
    with pytest.raises(ValueError, match="n = 0"):
        block_sizes(0, 3)


def network(n_max=4, d=3):
    """A set network with random weights, in float64."""
    architecture = GroupArchitecture(2, n_max * (d + 1), (16, 16), x_embedding=(8, 5), n_max=n_max)
    return GroupNetwork(architecture, generator(3)).double()


def test_deep_set_does_not_depend_on_the_order_of_the_members():
    """Equal up to the rounding of a sum in another order; another member makes a difference."""
    draws = generator(4)
    x = torch.randn(6, 4, 3, generator=draws, dtype=torch.float64)
    sizes = torch.tensor([1, 2, 3, 3, 4, 4])
    other = x.clone()
    for i, size in enumerate(sizes.tolist()):
        other[i, :size] = x[i, torch.randperm(size, generator=draws)]
    encoding, net = GroupEncoding("deep_set", 4), network()
    theta, t = (
        torch.randn(6, 2, generator=draws, dtype=torch.float64),
        torch.rand(6, generator=draws).double(),
    )
    expected = net(theta, encoding.rows(x, sizes), t)
    torch.testing.assert_close(net(theta, encoding.rows(other, sizes), t), expected, rtol=1e-12, atol=1e-12)
    other[:, 0] += 0.1
    assert (net(theta, encoding.rows(other, sizes), t) - expected).abs().amin(1).min() > 1e-6


def test_deep_set_averages_the_codes_of_its_members_and_ignores_what_stands_in_empty_places():
    x = torch.randn(2, 4, 3, generator=generator(5), dtype=torch.float64)
    net, sizes = network(), torch.tensor([2, 4])
    rows = GroupEncoding("deep_set", 4).rows(x, sizes)
    codes = net.x_embedding(rows)
    for i, size in enumerate(sizes.tolist()):
        torch.testing.assert_close(codes[i, :5], net.x_embedding.phi(x[i, :size]).mean(0))
    torch.testing.assert_close(codes[:, 5:], rows[:, -4:])
    rows[0, 6:12] = torch.nan  # places 3 and 4 of a set of two
    assert torch.equal(net.x_embedding(rows), codes)


def test_deep_set_is_evaluated_for_all_pairs_as_one_by_one():
    encoding, net = GroupEncoding("deep_set", 4), network()
    x = encoding.blocks(torch.randn(2, 10, 3, generator=generator(6), dtype=torch.float64))
    theta = torch.randn(2, 5, 2, generator=generator(7), dtype=torch.float64)
    scores = NetworkScore(net, NETWORK).bind(x)(theta, 0.4)
    assert scores.shape == (2, 5, 3, 2)
    time = torch.full((2, 5, 3), 0.4, dtype=torch.float64)
    eps = net(theta[:, :, None].expand(-1, -1, 3, -1), x[:, None].expand(-1, 5, -1, -1), time)
    torch.testing.assert_close(scores, -eps / NETWORK.sigma(0.4))


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="n_max members"):
        GroupArchitecture(2, 7, x_embedding=(4,), n_max=3)


class ExactSetScore(Score):
    """Score of the posterior of a Gaussian mean given a set, from its mean and size: N(theta, noise / size)."""

    def __init__(self, prior, noise, n_max, schedule):
        self.mean, self.cov, self.noise, self.n_max = *prior, noise, n_max
        self.dim, self.schedule = len(self.mean), schedule

    def posteriors(self, rows):
        sizes = rows[..., self.dim :].argmax(-1) + 1
        precision = np.linalg.inv(self.cov)
        likelihood = sizes.numpy()[..., None, None] * np.linalg.inv(self.noise)
        covs = np.linalg.inv(precision + likelihood)
        right = np.einsum("bkij,bkj->bki", likelihood, rows[..., : self.dim].numpy()) + precision @ self.mean
        return torch.from_numpy(np.einsum("bkij,bkj->bki", covs, right)), torch.from_numpy(covs)

    def bind(self, x):
        return BoundSetScore(*self.posteriors(x), self.schedule)


class BoundSetScore(BoundScore):
    def __init__(self, means, covs, schedule):
        self.means, self.covs, self.schedule, self.n = means, covs, schedule, means.shape[1]

    def __call__(self, theta, t):
        diffused = self.schedule.alpha(t) * self.covs + self.schedule.sigma2(t) * torch.eye(theta.shape[-1])
        residual = self.schedule.sqrt_alpha(t) * self.means[:, None] - theta[:, :, None]
        return torch.linalg.solve(diffused[:, None], residual[..., None])[..., 0]


class Case:
    """n = 8 observations of a Gaussian mean in blocks of three, three and two."""

    def __init__(self, n=8, n_max=3):
        rng = np.random.default_rng(11)
        self.mean, self.cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
        self.noise = np.array([[1.0, -0.3], [-0.3, 2.0]])
        x = np.array([1.5, -1.0]) + rng.standard_normal((1, n, 2)) @ np.linalg.cholesky(self.noise).T
        self.rows = GroupEncoding("mean", n_max).blocks(torch.from_numpy(x))
        self.score = ExactSetScore((self.mean, self.cov), self.noise, n_max, NETWORK)
        self.prior = Gaussian(torch.from_numpy(self.mean), torch.from_numpy(self.cov))
        self.posterior_cov = np.linalg.inv(np.linalg.inv(self.cov) + n * np.linalg.inv(self.noise))
        right = np.linalg.solve(self.cov, self.mean) + np.linalg.solve(self.noise, x[0].sum(0))
        self.posterior_mean = self.posterior_cov @ right


@pytest.mark.parametrize("t", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("n_max", [1, 3, 8])
def test_blocks_compose_to_the_score_of_all_observations(t, n_max):
    """Exact: with the prior counted 1 - n instead of 1 - k times, or a remainder lost, it would be far off."""
    case = Case(n_max=n_max)
    bound, covs = case.score.bind(case.rows), case.score.posteriors(case.rows)[1]
    assert bound.n == -(-8 // n_max)
    theta = torch.randn(1, 6, 2, generator=generator(8), dtype=torch.float64)
    tall = GaussScore(bound, case.prior, covs, torch.float64)(theta, t)
    diffused = NETWORK.alpha(t) * case.posterior_cov + NETWORK.sigma2(t) * np.eye(2)
    residual = NETWORK.sqrt_alpha(t) * case.posterior_mean - theta[0].numpy()
    np.testing.assert_allclose(tall[0].numpy(), np.linalg.solve(diffused, residual.T).T, rtol=1e-5)


def test_gauss_samples_the_tall_posterior_from_blocks_with_a_remainder():
    """4,000 draws, 4,000 for each covariance; in units of the posterior's standard deviation.

    The mean has a standard error of 0.016, a variance one of 0.022 (and, with 200 steps, is 6 % too small):
    the bounds are at least six of them away. With the prior left in every block the mean would be off by
    0.23; with the power 1 - n there would be no posterior.
    """
    case = Case()
    problem = Problem(case.score, case.prior, case.rows)
    run = Gauss(steps=200, eta=1.0, cov_samples=4000).sample(
        problem, 4000, Noise([generator(9)], torch.float64)
    )
    white = np.linalg.solve(
        np.linalg.cholesky(case.posterior_cov), (run.theta[0].numpy() - case.posterior_mean).T
    )
    assert np.abs(white.mean(1)).max() < 0.15
    assert np.abs(np.cov(white) - np.eye(2)).max() < 0.2

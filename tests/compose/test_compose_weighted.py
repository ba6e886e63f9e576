"""GAUSS and JAC against the exact diffused tall score of a Gaussian model, and their rules.

The model has several datasets with different priors in one batch, non-zero prior means, anisotropic and
correlated covariances (condition numbers 8 and 10).
"""

import math

import numpy as np
import pytest
import torch
from oracles import TIMES, GaussianCase, generator, relative_error

from tallsbi.compose.base import EventCount
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss import GaussScore
from tallsbi.compose.jac import JacScore
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores.mixture import MixtureScore

SIZES = [(n, m) for n in (1, 2, 30, 100) for m in (1, 2, 10)]
EPS32 = torch.finfo(torch.float32).eps


def composed(name, case, dtype=torch.float64):
    if name == "GAUSS":
        return GaussScore(case.bound(dtype), case.prior(dtype), case.covariances(), dtype)
    return JacScore(case.bound(dtype), case.prior(dtype), case.B)


def uniform_model(dtype, B=2, n=6):
    """A mixture score with a box prior: not a model of anything, but a prior that is not Gaussian."""
    score = MixtureScore(
        torch.full((2,), 0.5, dtype=dtype), torch.tensor([[1.0, 2.0], [0.2, 0.1]], dtype=dtype), TOY
    )
    x = torch.randn(B, n, 2, generator=generator(), dtype=dtype)
    box = Uniform(torch.full((2,), -1.7, dtype=dtype), torch.full((2,), 1.7, dtype=dtype))
    covariances = torch.tensor([[0.5, 0.1], [0.1, 0.4]], dtype=dtype).expand(B, n, 2, 2)
    return score.bind(x), box, covariances


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_gaussian_tall_score_is_exact(name, n, m, schedule):
    """In float64 both reach 1e-10 relative at every t from 1e-5 to 1 (1e-5 is what the method needs)."""
    case = GaussianCase(3, n, m, schedule=schedule)
    tall = composed(name, case)
    for t in TIMES:
        theta = case.states(t)
        assert relative_error(tall(theta, t), case.tall_score(theta, t)) < 1e-10, t
    assert tall.lost_definiteness.count.tolist() == [0, 0, 0]


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_gaussian_tall_score_in_float32(name, n, m, schedule):
    """Two roundings limit float32, and the tolerance is ten times their product with the number of terms.

    Of the terms of the weighted sum all but the tall score itself cancels: `cancelled` is their ratio. And
    JAC reads each precision off I + sigma^2 J, which is of size alpha V where J is close to -I / sigma^2:
    near t = 1 the weights are off by eps / (alpha V), and the n scores they weigh differ by sqrt(alpha).
    """
    case = GaussianCase(3, n, m, schedule=schedule)
    tall = composed(name, case, torch.float32)
    smallest = float(np.linalg.eigvalsh(case.single_covariance()).min())
    for t in TIMES:
        theta = case.states(t).float()
        exact = case.tall_score(theta, t)
        prior_score = case.prior().diffused_score(theta.double(), t, schedule)
        terms = case.bound()(theta.double(), t).norm(dim=-1).sum(2) + n * prior_score.norm(dim=-1)
        cancelled = float((terms / exact.norm(dim=-1)).max())
        blur = 1 / (schedule.sqrt_alpha(t) * smallest) if name == "JAC" else 0
        assert relative_error(tall(theta, t), exact) < 10 * EPS32 * (m + cancelled + n * blur), t


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_one_observation_needs_no_weights(name):
    case = GaussianCase(2, 1, 3)
    tall, theta = composed(name, case), case.states(0.3)
    assert torch.equal(tall(theta, 0.3), case.bound()(theta, 0.3)[:, :, 0])


def test_observations_with_different_covariances():
    """GAUSS pairs every covariance with its own score: the weighted formula written out as loops."""
    case = GaussianCase(2, 4, 3)
    rng = np.random.default_rng(5)
    covariances = case.covariances() * torch.from_numpy(rng.uniform(0.3, 0.9, (2, 4, 1, 1)))
    theta, t = case.states(0.2), 0.2
    result = GaussScore(case.bound(), case.prior(), covariances, torch.float64)(theta, t)
    eye, ratio = torch.eye(3, dtype=torch.float64), TOY.alpha(t) / TOY.sigma2(t)
    scores, prior_score = case.bound()(theta, t), case.prior().diffused_score(theta, t, TOY)
    for b in range(2):
        P = [torch.linalg.inv(covariances[b, j]) + ratio * eye for j in range(4)]
        P_prior = torch.linalg.inv(torch.from_numpy(case.cov[b])) + ratio * eye
        Lambda = sum(P) - 3 * P_prior
        for s in range(theta.shape[1]):
            right = sum(P[j] @ scores[b, s, j] for j in range(4)) - 3 * P_prior @ prior_score[b, s]
            torch.testing.assert_close(result[b, s], torch.linalg.solve(Lambda, right), rtol=1e-9, atol=1e-9)


def test_jac_on_a_mixture_is_the_weighted_formula():
    """No closed form, but the formula: weights (alpha / sigma^2)(I + sigma^2 J_j)^-1, and the box prior."""
    bound, box, _ = uniform_model(torch.float64)
    theta, t = torch.randn(2, 3, 2, generator=generator(1), dtype=torch.float64), 0.25
    result = JacScore(bound, box, 2)(theta, t)
    scores, jacobians = bound.with_jacobian(theta, t)
    eye, ratio = torch.eye(2, dtype=torch.float64), TOY.alpha(t) / TOY.sigma2(t)
    P = ratio * torch.linalg.inv(eye + TOY.sigma2(t) * jacobians)
    P_prior, prior_score = box.backward_precision(theta, t, TOY), box.diffused_score(theta, t, TOY)
    Lambda = P.sum(2) + (1 - 6) * P_prior
    right = (P @ scores[..., None]).sum(2) + (1 - 6) * P_prior @ prior_score[..., None]
    torch.testing.assert_close(result, torch.linalg.solve(Lambda, right)[..., 0], rtol=1e-9, atol=1e-9)


def test_jac_does_not_depend_on_the_size_of_its_blocks(monkeypatch):
    case = GaussianCase(2, 5, 3)
    theta = case.states(0.3, S=11)
    expected = composed("JAC", case)(theta, 0.3)
    monkeypatch.setattr("tallsbi.compose.base._JACOBIAN_ENTRIES", 200)
    torch.testing.assert_close(composed("JAC", case)(theta, 0.3), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_plain_sum_while_the_signal_is_below_the_switch_over(name):
    bound, box, covariances = uniform_model(torch.float64)
    theta = torch.randn(2, 4, 2, generator=generator(1), dtype=torch.float64)
    plain = FactorisedScore(bound, box, 2)

    def tall(switch_over):
        if name == "GAUSS":
            return GaussScore(bound, box, covariances, torch.float64, switch_over)
        return JacScore(bound, box, 2, switch_over)

    crossing = math.sqrt(2 * math.log(2) / TOY.quadratic)  # just beyond sqrt(alpha) = 0.5
    for t in (crossing, 0.8, 1.0):
        torch.testing.assert_close(tall(0.5)(theta, t), plain(theta, t))
        assert not torch.allclose(tall(0.0)(theta, t), plain(theta, t))
    for t in (0.05, 0.9 * crossing):
        torch.testing.assert_close(tall(0.5)(theta, t), tall(0.0)(theta, t))


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_gaussian_priors_ignore_the_switch_over(name):
    case = GaussianCase(2, 3, 2)
    tall, theta = composed(name, case), case.states(0.9)
    before = tall(theta, 0.9)
    tall.switch_over = 1.0
    assert torch.equal(tall(theta, 0.9), before)
    assert LogNormal(torch.zeros(2), torch.ones(2)).constant_precision


def test_switch_over_is_a_signal_level():
    case = GaussianCase(2, 3, 2)
    with pytest.raises(ValueError, match="switch_over=2"):
        JacScore(case.bound(), case.prior(), 2, 2.0)


def test_covariances_wider_than_the_prior_are_counted():
    """Lambda = (alpha / sigma^2) I + n C^-1 - (n - 1) P^-1 with C = 2 P turns indefinite at a known time."""
    n, times = 6, [i / 50 for i in range(50, 0, -1)]
    case = GaussianCase(2, n, 2)
    prior = Gaussian(torch.zeros(2, 2, dtype=torch.float64), torch.eye(2).double().expand(2, 2, 2))
    covariances = torch.stack([2 * torch.eye(2), 0.5 * torch.eye(2)])[:, None].expand(2, n, 2, 2).double()
    tall = GaussScore(case.bound(), prior, covariances, torch.float64)
    lost = [t for t in times if TOY.alpha(t) / TOY.sigma2(t) + n / 2 - (n - 1) < 0]
    for t in times:
        assert bool(tall(case.states(t, S=4), t).isfinite().all())
    assert tall.lost_definiteness.count.tolist() == [4 * len(lost), 0]
    assert tall.lost_definiteness.first_time[0] == lost[0] == 1.0
    assert bool(tall.lost_definiteness.first_time[1].isnan())


@pytest.mark.parametrize("n", [2, 8, 30, 100])
@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_box_prior_in_float32_is_finite_at_all_times(name, n):
    """Next to t = 0 and at t = 1 as well, inside, at the edge of and outside the box.

    On the edge the prior's kernel is narrower than the noise by 1 - 2 / pi, so (n - 1) times its excess
    beats the rest of Lambda as t -> 0 for every n >= 2: that is counted. In the middle nothing is lost.
    """
    bound, box, covariances = uniform_model(torch.float32, n=n)
    tall = GaussScore(bound, box, covariances, torch.float32) if name == "GAUSS" else JacScore(bound, box, 2)
    edge = torch.linspace(-2.5, 2.5, 41)[None, :, None].repeat(2, 1, 2)
    edge[..., 1] = 1.7
    for t in (1.0, 0.999, 0.9, 0.5, 0.3, 0.1, 0.01, 1e-3, 1e-4):
        assert bool(tall(edge, t).isfinite().all()), t
    middle = torch.linspace(-0.3, 0.3, 41)[None, :, None].repeat(2, 1, 2)
    for theta, lost in ((middle, 0), (edge / TOY.sqrt_alpha(0.01), 41)):
        tall.lost_definiteness = EventCount(2)
        tall(theta, 0.01)
        assert tall.lost_definiteness.count.tolist() == [lost, lost]


def test_events_are_counted_per_dataset_with_their_first_time():
    events = EventCount(2)
    events.add(torch.tensor([[False, False], [False, False]]), 1.0)
    events.add(torch.tensor([[False, True], [False, False]]), 0.5)
    events.add(torch.tensor([[True, True], [True, False]]), 0.25)
    assert events.count.tolist() == [3, 1]
    assert events.first_time.tolist() == [0.5, 0.25]

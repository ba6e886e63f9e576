"""JAC_PD: exact in the Gaussian case, equal to JAC where nothing is capped, and inside a box."""

import pytest
import torch
from box_model import EDGE, box_problem, wasserstein
from oracles import TIMES, GaussianCase, generator, relative_error

from tallsbi.algorithms import build
from tallsbi.compose.jac import JacScore
from tallsbi.compose.jac_pd import JacPDScore
from tallsbi.compose.loewner import bind_blocks
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores.mixture import MixtureScore


def composed(case, size=1000):
    return JacPDScore(bind_blocks(case.score(), case.observations(), size), case.prior(), case.B)


@pytest.mark.parametrize("schedule", [TOY, NETWORK], ids=["toy", "network"])
@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (30, 2), (100, 10)])
def test_gaussian_tall_score_is_exact(n, m, schedule):
    """The kernels are read off I + sigma^2 J, which is of size alpha near t = 1: 1e-16 / 1e-7 in float64."""
    case = GaussianCase(3, n, m, schedule=schedule)
    tall = composed(case)
    for t in TIMES:
        theta = case.states(t)
        assert relative_error(tall(theta, t), case.tall_score(theta, t)) < 1e-8, t
    assert tall.lost_definiteness.count.tolist() == [0, 0, 0]


def test_blocks_of_observations_and_samples_do_not_matter(monkeypatch):
    case = GaussianCase(2, 7, 3)
    theta = case.states(0.3, S=11)
    whole = composed(case)(theta, 0.3)
    monkeypatch.setattr("tallsbi.compose.base._JACOBIAN_ENTRIES", 200)
    torch.testing.assert_close(composed(case, 3)(theta, 0.3), whole, rtol=1e-11, atol=1e-11)


def test_where_no_cap_applies_it_is_jac():
    """A mixture posterior: between its components a kernel is wider than the prior's, elsewhere it is not."""
    noise = torch.tensor([[0.2, 0.3], [0.1, 0.05]], dtype=torch.float64)
    score = MixtureScore(torch.full((2,), 0.5, dtype=torch.float64), noise, TOY)
    x = torch.randn(2, 5, 2, generator=generator(), dtype=torch.float64)
    prior = Gaussian.standard(2, torch.float64)
    theta, t = 0.3 * torch.randn(2, 40, 2, generator=generator(1), dtype=torch.float64), 0.02
    plain = JacScore(score.bind(x), prior, 2)(theta, t)
    stable = JacPDScore(bind_blocks(score, x, 2), prior, 2)(theta, t)
    jacobians = score.bind(x).with_jacobian(theta, t)[1]
    a, v = TOY.alpha(t), TOY.sigma2(t)
    # (v / a)(I + v J) below the prior's v / (a + v)
    widest = torch.linalg.eigvalsh(jacobians).amax((-1, -2))
    uncapped = (1 + v * widest) * (a + v) / a < 1
    assert 10 < int(uncapped.sum()) < 70
    torch.testing.assert_close(stable[uncapped], plain[uncapped], rtol=1e-8, atol=1e-8)
    assert bool(((stable - plain)[~uncapped].norm(dim=-1) > 1e-6).all())


@pytest.mark.parametrize("n", [1, 8, 30])
@pytest.mark.parametrize("centre", [(0.0, 0.0), (1.0, 1.5), (1.7, -1.7)], ids=["middle", "side", "corner"])
def test_draws_in_a_box_are_inside_and_near_the_exact_posterior(n, centre):
    """W1 in standard deviations: 0.03 to 0.2 measured, 0.03 to 0.09 for 300 exact draws."""
    problem = box_problem(n, centre, (0.1, 0.3))
    result = build("JAC_PD", {}).sample(problem, 300, Noise([generator(1)], torch.float64))
    assert float(result.theta.abs().max()) < EDGE
    assert result.health.lost_definiteness.tolist() == [0]
    assert wasserstein(result.theta[0], problem).max() < 0.3


def test_a_jacobian_without_a_sign_does_not_claim_certainty():
    """The lower cap: a posterior at most `narrowest` times as wide as the prior, at every t."""
    case = GaussianCase(1, 3, 2)
    tall = JacPDScore([case.bound()], Gaussian.standard(2, torch.float64), 1, narrowest=0.01)
    for t in TIMES:
        ratio = TOY.alpha(t) / TOY.sigma2(t)
        assert (ratio + 1) / tall._lower_cap(ratio) == pytest.approx(ratio + 100)

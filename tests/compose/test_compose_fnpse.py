"""F-NPSE's sum of scores is the tall score in the limit t -> 0, and only there."""

import pytest
import torch
from oracles import GaussianCase, relative_error

from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import Schedule

SHARP = Schedule(quadratic=9.975, linear=0.05, floor=0.0)


def error(case, theta, t):
    tall = FactorisedScore(case.bound(), case.prior(), case.B)
    return relative_error(tall(theta, t), case.tall_score(theta, t))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (8, 3), (100, 10)])
def test_sum_is_the_tall_score_as_t_vanishes(n, m):
    """The error is proportional to upsilon(t): without the floor it falls tenfold with upsilon."""
    case = GaussianCase(2, n, m, schedule=SHARP)
    theta = case.states(0.0)
    assert error(case, theta, 0.0) < 1e-10
    if n > 1:
        one, two = error(case, theta, 1e-5), error(case, theta, 1e-6)
        assert one / two == pytest.approx(SHARP.upsilon(1e-5) / SHARP.upsilon(1e-6), rel=0.1)


def test_sum_is_not_the_tall_score_at_larger_t():
    case = GaussianCase(2, 8, 3, schedule=SHARP)
    assert error(case, case.states(0.3), 0.3) > 0.1


def test_parts_add_up():
    case = GaussianCase(2, 5, 3)
    theta, tall = case.states(0.2), FactorisedScore(case.bound(), case.prior(), 2)
    total, prior = tall.parts(theta, 0.2)
    torch.testing.assert_close(total, case.bound()(theta, 0.2).sum(2))
    torch.testing.assert_close(prior, -4 * case.prior().diffused_score(theta, 0.2, case.schedule))
    torch.testing.assert_close(tall(theta, 0.2), total + prior)


def test_one_observation_has_no_prior_term():
    case = GaussianCase(2, 1, 3)
    theta, tall = case.states(0.2), FactorisedScore(case.bound(), case.prior(), 2)
    assert bool((tall.parts(theta, 0.2)[1] == 0).all())
    torch.testing.assert_close(tall(theta, 0.2), case.bound()(theta, 0.2)[:, :, 0])


def test_the_path_of_the_text_has_the_same_end():
    """(1 - n)(1 - t) times the score of the prior that is not diffused."""
    case = GaussianCase(2, 5, 3, schedule=SHARP)
    theta, tall = case.states(0.2), FactorisedScore(case.bound(), case.prior(), 2, "annealed")
    prior = case.prior()
    exact = torch.linalg.solve(prior.cov, (prior.mean[:, None] - theta).mT).mT
    torch.testing.assert_close(tall.parts(theta, 0.2)[1], -4 * 0.8 * exact)
    torch.testing.assert_close(tall(theta, 0.0), FactorisedScore(case.bound(), prior, 2)(theta, 0.0))
    with pytest.raises(ValueError, match="prior_term = 'other': must be one of diffused, annealed"):
        FactorisedScore(case.bound(), prior, 2, "other")


def test_a_box_that_is_not_diffused_has_no_score():
    """Neither inside nor beyond, where its (1 - n)-fold edge would push draws away without end."""
    case, box = GaussianCase(1, 4, 2), Uniform(torch.full((2,), -1.0), torch.full((2,), 1.0))
    theta = torch.tensor([[[0.0, 0.999999], [1.0, -1.0], [3.0, -9.0]]], dtype=torch.float64)
    prior = FactorisedScore(case.bound(), box, 1, "annealed").parts(theta, 0.1)[1]
    assert float(prior.abs().max()) < 1e-12

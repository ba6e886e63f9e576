"""The likelihood of the mean of learnt summaries, and the methods CLT and AUTO that draw with it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tallsbi.algorithms.auto import Auto
from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.clt import CLT
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.base import Noise
from tallsbi.scores.base import Score
from tallsbi.summaries.likelihood import SummaryLikelihood
from tallsbi.summaries.variance import VarianceLaw


class _Unused(Score):
    """What draws here needs no score."""

    dim = 1

    def bind(self, x):
        raise AssertionError


UNUSED = _Unused()


def counts(theta, generator):
    """Poisson counts with log mean theta: skewed, discrete, no normal law in sight."""
    return torch.poisson(theta.exp(), generator=generator)


def noise(datasets=1):
    return Noise([torch.Generator().manual_seed(i) for i in range(datasets)])


@pytest.fixture(scope="module")
def learnt():
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(3000, 1, generator=generator)
    return SummaryLikelihood.fit(theta, counts(theta, generator), seed=1, epochs=30)


def exact(x):
    """Mean and standard deviation on a grid."""
    grid = np.linspace(-4, 4, 20_001)
    log = -0.5 * grid**2 + grid * x.sum() - len(x) * np.exp(grid)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = (weight * grid).sum()
    return mean, np.sqrt((weight * (grid - mean) ** 2).sum())


@pytest.mark.parametrize("n", [20, 200])
def test_right_for_skewed_counts_at_any_n(learnt, n):
    truth = torch.linspace(-1, 1.5, 4)[:, None]
    x = counts(truth[:, None].expand(4, n, 1), torch.Generator().manual_seed(n))
    problem = Problem(UNUSED, Gaussian.standard(1), x, learnt.bind(x))
    theta = CLT().sample(problem, 600, noise(4)).theta
    for dataset, draws in zip(x[..., 0].numpy(), theta[..., 0].double().numpy(), strict=True):
        mean, deviation = exact(dataset)
        # What 3,000 simulations leave uncertain is added to the posterior.
        known = deviation * np.sqrt(1 + n * learnt.variance)
        assert abs(draws.mean() - mean) < 0.7 * deviation + 3 * np.sqrt(known**2 - deviation**2)
        assert 0.85 * deviation < draws.std() < 1.25 * known


def test_single_summaries_that_say_nothing_leave_the_prior():
    generator = torch.Generator().manual_seed(3)
    theta, x = torch.randn(1500, 1, generator=generator), torch.randn(1500, 2, generator=generator)
    empty = SummaryLikelihood.fit(theta, x, seed=1, epochs=20)
    data = torch.randn(1, 30, 2, generator=generator)
    draws = CLT().sample(Problem(UNUSED, Gaussian.standard(1), data, empty.bind(data)), 1000, noise()).theta
    assert abs(float(draws.mean())) < 0.5
    assert float(draws.std()) > 0.7


def test_parameter_known_up_to_its_sign_has_no_summaries():
    """x = theta² + noise: the posterior mean is zero whatever x."""
    generator = torch.Generator().manual_seed(4)
    theta = torch.randn(2000, 1, generator=generator)
    x = theta.square() + 0.1 * torch.randn(2000, 1, generator=generator)
    assert SummaryLikelihood.fit(theta, x, seed=1, epochs=60) is None


def test_flat_posteriors_of_a_uniform_prior_have_summaries():
    generator = torch.Generator().manual_seed(5)
    theta = 2 * torch.rand(2000, 1, generator=generator) - 1
    x = theta + 3 * torch.randn(2000, 1, generator=generator)
    assert SummaryLikelihood.fit(theta, x, seed=1, epochs=10) is not None


def test_saved_and_restored_gives_the_same(learnt):
    learnt = replace(learnt, variance_law=VarianceLaw(level=0.3, power=0.5, low=1e-4, high=0.2))
    again = SummaryLikelihood.restored(*learnt.tensors())
    x = torch.full((1, 9, 1), 2.0)
    theta = torch.linspace(-1, 1, 7)[None, :, None]
    assert torch.equal(learnt.bind(x).log_prob(theta), again.bind(x).log_prob(theta))
    bound, bound_again = learnt.bind(x).near(theta), again.bind(x).near(theta)
    assert torch.equal(bound.log_prob(theta), bound_again.log_prob(theta))


def test_repeats_show_what_all_networks_get_wrong_alike(learnt):
    """All laws shifted by half a standard deviation of a summary: v is 1/4, though they do not disagree."""
    generator = torch.Generator().manual_seed(8)
    theta = torch.randn(200, 1, generator=generator)
    x = counts(theta[:, None].expand(200, 25, 1), generator)
    right = learnt.calibrated(theta, x)
    assert (right.variance, right.noise) == (learnt.variance, learnt.noise)  # nothing beyond chance
    wrong = SummaryLikelihood.restored(*learnt.tensors())
    for network in wrong.laws:
        parts = network._parts

        def shifted(v, parts=parts):
            mean, off_diagonal, log_diagonal = parts(v)
            return mean + 0.5 * (-log_diagonal).exp(), off_diagonal, log_diagonal

        network._parts = shifted
    assert wrong.calibrated(theta, x).variance == pytest.approx(0.25, rel=0.2)


def test_draws_are_as_wide_as_the_error_of_h_where_they_are(learnt):
    """v is a hundred times its average, or nothing: the posteriors differ by what that adds to 1 / n."""
    n, v = 40, 0.2
    x = counts(torch.full((1, n, 1), 0.5), torch.Generator().manual_seed(2))
    spread = {}
    for name, level in (("average", None), ("known", 0.0), ("wide", v)):
        law = None if level is None else VarianceLaw(level=level, power=0.0, low=0.0, high=1.0)
        # On average what the wide one has where the draws are, so that these begin too wide or as they end.
        likelihood = replace(learnt, variance=v, variance_law=law)
        theta = (
            CLT().sample(Problem(UNUSED, Gaussian.standard(1), x, likelihood.bind(x)), 4000, noise()).theta
        )
        spread[name] = float(theta.std())
    assert spread["wide"] == pytest.approx(spread["average"], rel=0.1)
    assert spread["known"] / spread["wide"] == pytest.approx(
        (learnt.noise / (learnt.noise + n * v)) ** 0.5, rel=0.25
    )


def test_draws_begin_with_a_law_whose_density_is_known(learnt):
    """The mean of p / q over draws of q is one for any p inside; p is a narrow normal law here."""
    x = counts(torch.full((1, 9, 1), 0.5), torch.Generator().manual_seed(2))
    beginning, prior = learnt.bind(x).beginning, Gaussian.standard(1)
    start = prior.sample(40_000, torch.Generator().manual_seed(3)).float()[None]
    theta = beginning.draw(start, noise())
    log_q = beginning.log_prob(theta, prior.log_prob)
    log_p = torch.distributions.Normal(0.4, 0.2).log_prob(theta[..., 0])
    assert float((log_p - log_q).exp().mean()) == pytest.approx(1, abs=0.02)
    assert float((theta == start).float().mean()) == pytest.approx(0.05, abs=0.01)  # the share of the prior


def test_auto_takes_summaries_for_many_observations_only(learnt, monkeypatch):
    class UsedSummaries(Exception):
        pass

    def used(*args):
        raise UsedSummaries

    monkeypatch.setattr(CLT, "sample", used)
    many, few = torch.ones(1, 50, 1), torch.ones(1, 3, 1)
    with pytest.raises(UsedSummaries):
        Auto().sample(Problem(UNUSED, Gaussian.standard(1), many, learnt.bind(many)), 10, noise())
    for x, bound in ((few, learnt.bind(few)), (many, None)):
        with pytest.raises(AssertionError):  # of the score, which is bound
            Auto().sample(Problem(UNUSED, Gaussian.standard(1), x, bound), 10, noise())


def test_clt_without_summaries_is_refused():
    with pytest.raises(ValueError, match=r"needs summaries.*summaries=True.*two modes: choose GAUSS_PD"):
        CLT().sample(Problem(UNUSED, Gaussian.standard(1), torch.ones(1, 9, 1)), 10, noise())

"""A learned prior serves every composition as the prior does that it has learned."""

import pytest
import torch
from oracles import GaussianCase, generator

from tallsbi.algorithms import build
from tallsbi.algorithms.base import Problem
from tallsbi.samplers.base import Noise
from tallsbi.schedule import TOY
from tallsbi.scores.base import BoundScore, Score
from tallsbi.scores.learned_prior import LearnedPrior


class ScoreOfThePrior(Score):
    """What a perfectly trained network says without context."""

    def __init__(self, prior):
        self.prior, self.dim, self.schedule = prior, prior.dim, TOY

    def bind(self, x):
        return Bound(self.prior)


class Bound(BoundScore):
    def __init__(self, prior):
        self.prior, self.n, self.schedule = prior, 1, TOY

    def __call__(self, theta, t):
        return self.prior.diffused_score(theta, t, TOY)[:, :, None]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("GAUSS", {"steps": 30, "cov_samples": 50, "cov_steps": 20}),
        ("GAUSS_PD", {"steps": 15, "cov_samples": 50, "cov_steps": 10}),
        ("JAC", {"steps": 30}),
        ("JAC_PD", {"steps": 15}),
        ("DET_GEF", {"steps": 30}),
        ("LANGEVIN", {"steps": 30}),
    ],
)
def test_draws_are_those_with_the_prior_itself(method, settings):
    case = GaussianCase(1, 5, 2)
    prior = case.prior()
    empty = torch.zeros(1, 1, 3, dtype=torch.float64)
    learned = LearnedPrior(ScoreOfThePrior(prior), empty, prior.cov[0])
    x = case.observations()
    draws = [
        build(method, settings)
        .sample(Problem(case.score(), known_prior, x), 40, Noise([generator(3)], torch.float64))
        .theta
        for known_prior in (prior, learned)
    ]
    assert draws[0].isfinite().all()
    torch.testing.assert_close(draws[0], draws[1], rtol=1e-6, atol=1e-8)

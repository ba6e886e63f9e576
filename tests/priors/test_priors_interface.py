"""What every prior answers: moments, reach, repetition, its map from standard normals and its form on disk."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr
from torch import distributions as td

from tallsbi.priors.base import DiffusedPrior, Prior, UnsupportedPrior
from tallsbi.priors.description import from_json
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import Marginals
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import TOY
from tallsbi.scores.learned_prior import LearnedPrior
from tallsbi.scores.mixture import MixtureScore

MEAN = torch.tensor([0.3, -1.0], dtype=torch.float64)
SCALE = torch.tensor([0.5, 2.0], dtype=torch.float64)
HALF_WIDTH = np.sqrt(3) * SCALE
COVARIANCE = torch.diag(SCALE.square())
CORRELATED = torch.tensor([[1.0, 0.6], [0.6, 2.0]], dtype=torch.float64)
PRIORS = {
    "Gaussian": Gaussian(MEAN, COVARIANCE),
    "LogNormal": LogNormal(MEAN, SCALE),
    "Uniform": Uniform(MEAN - HALF_WIDTH, MEAN + HALF_WIDTH),
}


@pytest.mark.parametrize("kind", PRIORS)
def test_moments_are_those_of_the_latent_space(kind):
    torch.testing.assert_close(PRIORS[kind].covariance(), COVARIANCE[None])
    torch.testing.assert_close(PRIORS[kind].latent_mean(), MEAN[None])


def test_moments_of_mixed_coordinates_are_standard():
    prior = Marginals([td.Exponential(2.0), td.Uniform(-1.0, 3.0)])
    torch.testing.assert_close(prior.covariance(), torch.eye(2, dtype=torch.float64)[None])
    assert not prior.latent_mean().any()


@pytest.mark.parametrize("kind", ["Gaussian", "LogNormal"])
def test_an_unbounded_prior_reaches_as_far_as_asked(kind):
    low, high = PRIORS[kind].reach(3.0)
    torch.testing.assert_close(low, (MEAN - 3 * SCALE)[None, None])
    torch.testing.assert_close(high, (MEAN + 3 * SCALE)[None, None])
    assert PRIORS[kind].support() is None


def test_a_uniform_prior_reaches_as_far_as_its_support():
    prior = PRIORS["Uniform"]
    assert all(torch.equal(a, b) for a, b in zip(prior.reach(3.0), prior.support(), strict=True))


def test_only_a_uniform_prior_is_widened():
    assert PRIORS["Gaussian"].widened(2.0) is PRIORS["Gaussian"]
    torch.testing.assert_close(PRIORS["Uniform"].widened(2.0).low, 2 * (MEAN - HALF_WIDTH))


def test_repetition_keeps_what_all_datasets_share():
    assert PRIORS["Uniform"].repeat(4) is PRIORS["Uniform"]
    per_dataset = Gaussian(torch.stack([MEAN, -MEAN]), torch.stack([COVARIANCE] * 2)).repeat(3)
    torch.testing.assert_close(per_dataset.mean, torch.stack([MEAN] * 3 + [-MEAN] * 3))


@pytest.mark.parametrize("prior", [*PRIORS.values(), Gaussian(MEAN, CORRELATED)])
def test_the_standard_map_takes_standard_normals_to_the_prior(prior):
    """By the change of variables: density of z over the determinant of the map's Jacobian."""
    functions = {"identity": lambda v: v, "exp": np.exp, "ndtr": ndtr}
    parts = prior.standard_map()

    def theta(z):
        inner = functions[parts.inner](z)
        moved = parts.scale @ inner if parts.scale.ndim == 2 else parts.scale * inner
        return functions[parts.outer](parts.offset + moved)

    step = 1e-6
    for z in np.random.default_rng(1).standard_normal((5, 2)):
        columns = [(theta(z + d) - theta(z - d)) / (2 * step) for d in step * np.eye(2)]
        expected = -0.5 * z @ z - np.log(2 * np.pi) - np.log(abs(np.linalg.det(np.stack(columns, 1))))
        assert float(prior.log_prob(torch.from_numpy(theta(z)))) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", PRIORS)
def test_the_form_on_disk_gives_the_same_prior(kind):
    again, theta = from_json(PRIORS[kind].to_json()), torch.rand(5, 2, dtype=torch.float64)
    assert torch.equal(again.log_prob(theta), PRIORS[kind].log_prob(theta))


class _Unfinished(Prior):
    """A prior that does not say how it is spread."""

    def sample(self, count, generator): ...
    def log_prob(self, theta): ...
    def score_and_excess(self, theta, t, schedule): ...
    def normalised(self, mean, std): ...
    def to(self, *, dtype=None, device=None): ...


class _Finished(_Unfinished):
    def covariance(self): ...
    def latent_mean(self): ...


def test_a_prior_must_know_its_moments():
    with pytest.raises(TypeError, match=r"abstract methods.* covariance"):
        _Unfinished()


def test_what_a_prior_need_not_know_is_refused_by_name():
    with pytest.raises(UnsupportedPrior, match="_Finished has no form on disk"):
        _Finished().to_json()
    with pytest.raises(UnsupportedPrior, match="_Finished prior has no map"):
        _Finished().standard_map()


def test_a_learned_prior_answers_all_that_a_composition_asks():
    noise = torch.tensor([[1.0, 1.0]], dtype=torch.float64)
    score = MixtureScore(torch.ones(1, dtype=torch.float64), noise, TOY)
    prior = LearnedPrior(score, torch.zeros(1, 1, 2, dtype=torch.float64), CORRELATED)
    theta = torch.randn(3, 4, 2, dtype=torch.float64)
    torch.testing.assert_close(prior.covariance(), CORRELATED[None])
    assert (prior.support(), prior.reach(6.0)) == (None, None)
    assert prior.repeat(5) is prior
    assert prior.diffused_score(theta, 0.4, TOY).shape == theta.shape
    ratio = TOY.alpha(0.4) / TOY.sigma2(0.4)
    expected = torch.linalg.inv(CORRELATED) + ratio * torch.eye(2, dtype=torch.float64)
    torch.testing.assert_close(prior.backward_precision(theta, 0.4, TOY)[0, 0], expected)
    public = {name for name in dir(DiffusedPrior) if not name.startswith("_")}
    assert public == {
        *("score_and_excess", "diffused_score", "backward_precision", "covariance"),
        *("support", "reach", "repeat", "chosen", "constant_precision"),
    }

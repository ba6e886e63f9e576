"""The covariances of GAUSS: the published estimator, and the one without noise."""

import numpy as np
import pytest
import torch
from oracles import GaussianCase, generator, whitened_covariance

from tallsbi.algorithms import SharedSettings, build, configured
from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.gauss import Gauss
from tallsbi.algorithms.shared.covariances import covariance
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.priors.uniform import Uniform
from tallsbi.samplers.base import Noise
from tallsbi.samplers.ddim import DDIM


def test_published_covariances_are_those_of_draws_by_ddim():
    """Observation by observation with the noise of its dataset: the numbers of the study are the paper's estimator."""
    case, gauss = (
        GaussianCase(2, 3, 2),
        Gauss(covariances="published", cov_steps=7, cov_samples=9, cov_eta=0.3),
    )
    estimated = gauss.estimate(case.problem(), Noise([generator(1), generator(2)], torch.float64))

    class Stacked(Noise):
        def __call__(self, datasets, samples, dim):
            return torch.cat([self._draw(stream, 3, samples, dim) for stream in self.generators])

    single = case.score().repeat(3).bind(case.observations().reshape(6, 1, 2))
    noise = Stacked([generator(1), generator(2)], torch.float64)
    draws = DDIM(steps=7, eta=0.3).run(FactorisedScore(single, case.prior(), 6), 9, noise).theta
    torch.testing.assert_close(estimated.flatten(0, 1), covariance(draws), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("how", "samples", "slack"), [("published", 1000, 0.26), ("whitened", 5, 0.02)])
def test_covariances_are_the_posteriors(how, samples, slack):
    """Published: five standard errors and the bias of 200 steps; whitened: the solver's error, from five points."""
    case = GaussianCase(2, 3, 2)
    gauss = Gauss(covariances=how, cov_steps=200 if how == "published" else 30, cov_samples=samples)
    estimated = gauss.estimate(case.problem(), Noise([generator(3)], torch.float64))
    assert estimated.shape == (2, 3, 2, 2)
    error = whitened_covariance(estimated, case.single_covariance()) - torch.eye(2)
    assert float(error.abs().max()) < slack


@pytest.mark.parametrize(("how", "low", "high"), [("published", 1.1, 3.0), ("whitened", 0.97, 1.03)])
def test_fifty_samples_for_thirty_observations(how, low, high):
    """The sum of precisions over the right one, as a geometric mean over eight dimensions: the inverse of a noisy
    covariance is too large on average, and thirty of them keep that."""
    case = GaussianCase(1, 30, 8)
    gauss = Gauss(covariances=how, cov_samples=50)
    estimated = gauss.estimate(case.problem(), Noise([generator(3)], torch.float64))
    exact, prior = torch.from_numpy(case.single_covariance()), case.prior().covariance()
    weight = torch.linalg.inv(estimated).sum(1) - 29 * torch.linalg.inv(prior)
    right = 30 * torch.linalg.inv(exact) - 29 * torch.linalg.inv(prior)
    ratio = torch.linalg.eigvalsh(torch.linalg.solve(right, weight)[0].double()).clamp_min(1e-9)
    assert low < float(ratio.log().mean().exp()) < high


def test_steps_and_samples_follow_the_estimator_unless_given():
    run = lambda **given: (Gauss(**given).cov_steps, Gauss(**given).cov_samples)  # noqa: E731
    assert run() == run(covariances="whitened") == (30, 500)
    assert run(covariances="published") == (100, 1000)
    assert run(covariances="published", cov_samples=20) == (100, 20)
    with pytest.raises(ValueError, match="covariances = 'white': must be one of published, whitened"):
        build("GAUSS", {"covariances": "white"})


def test_draws_without_spread_do_not_break_the_weights(monkeypatch):
    """A network that points out of the prior's box makes every draw of a covariance run end on its edge."""
    case, edge = GaussianCase(1, 4, 2), torch.ones(4, 20, 2)
    monkeypatch.setattr("tallsbi.algorithms.gauss.whitened_draws", lambda *_: edge)
    problem = Problem(
        case.score(torch.float32), Uniform(-edge[0, 0], edge[0, 0]), case.observations(torch.float32)
    )
    draws = Gauss(steps=20, cov_samples=20).sample(problem, 5, Noise([generator(1)])).theta
    assert bool(draws.isfinite().all())


def test_covariances_of_many_observations_are_estimated_in_blocks(monkeypatch):
    """Block by block with streams that go on: the first block is as it would be alone."""
    case = GaussianCase(2, 5, 2)
    gauss = Gauss(cov_steps=10, cov_samples=50)

    def estimated(problem):
        return gauss.estimate(problem, Noise([generator(3), generator(4)], torch.float64))

    first = estimated(Problem(case.score(), case.prior(), case.observations()[:, :2]))
    monkeypatch.setattr("tallsbi.algorithms.shared.covariances._OBSERVATIONS", 2)
    blocks = estimated(case.problem())
    assert blocks.shape == (2, 5, 2, 2)
    torch.testing.assert_close(blocks[:, :2], first)
    assert (torch.linalg.eigvalsh(blocks) > 0).all()


def test_covariances_need_enough_draws():
    with pytest.raises(ValueError, match="needs more than 3 samples"):
        Gauss(cov_samples=3).estimate(GaussianCase(1, 2, 3).problem(), Noise([generator()], torch.float64))


def test_a_method_can_be_a_variant_of_an_algorithm():
    shared = SharedSettings(clip=2.0, eta={}, eta_default=0.25, switch_over=0.5)
    settings = {"algorithm": "GAUSS", "steps": 9, "cov_samples": 11}
    plain, clipped = (configured(name, settings, shared) for name in ("OTHER", "OTHER-clip"))
    assert (type(plain), plain.cov_samples, plain.eta, plain.clip) == (Gauss, 11, 0.25, None)
    assert clipped.clip == 2.0
    assert np.isclose(clipped.switch_over, 0.5)

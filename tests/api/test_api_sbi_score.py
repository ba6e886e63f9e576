"""Networks of sbi: the same score in our terms, and the exact tall posterior where the score is exact."""

import pytest
import torch
from api_models import MEAN, NOISE, PRIOR, VARIANCE, datasets, errors, false_alarm
from sbi.neural_nets.estimators.flowmatching_estimator import FlowMatchingEstimator
from sbi.neural_nets.estimators.score_estimator import SubVPScoreEstimator, VEScoreEstimator, VPScoreEstimator
from sbi.neural_nets.factory import posterior_flow_nn, posterior_score_nn
from sbi.utils import BoxUniform
from torch import distributions as td

from tallsbi import TallPosterior
from tallsbi.api.pairs import AnotherPrior
from tallsbi.api.sbi_score import SbiScore
from tallsbi.storage.files import DataError

KINDS = {"vp": VPScoreEstimator, "ve": VEScoreEstimator, "subvp": SubVPScoreEstimator}


def posterior_of_one(x):
    """Mean [B, 2] and covariance [2, 2] given a single observation, x [B, 2]."""
    cov = torch.linalg.inv(torch.linalg.inv(PRIOR.cov[0]) + torch.linalg.inv(NOISE))
    offset = torch.linalg.inv(PRIOR.cov[0]) @ PRIOR.mean[0]
    return (x.double() @ torch.linalg.inv(NOISE) + offset) @ cov, cov


def exact_estimator(kind, **statistics):
    """An estimator of sbi with the exact score of the Gaussian model, written in sbi's own functions."""

    class Exact(KINDS[kind]):
        def forward(self, input, condition, time):
            mean, cov = posterior_of_one(condition)
            mu, s = self.mean_t_fn(time.double()), self.std_fn(time.double())
            diffused = torch.linalg.inv(mu.squeeze() ** 2 * cov + s.squeeze() ** 2 * torch.eye(2))
            return ((mu * mean - input.double()) @ diffused).to(input.dtype)

    return Exact(torch.nn.Linear(1, 1), torch.Size([2]), torch.Size([2]), **statistics)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 10, 100])
def test_an_exact_score_gives_the_exact_tall_posterior(kind, n):
    posterior = TallPosterior.from_sbi(
        exact_estimator(kind, mean_0=MEAN, std_0=VARIANCE.sqrt()),
        td.MultivariateNormal(MEAN, torch.diag(VARIANCE)),
    )
    x, samples = datasets(2, n), 2000 if n < 100 else 500
    bias, cov = errors(posterior.sample(x, samples, settings={"cov_samples": 200}), x)
    # The diffusion of sbi ends with alpha of 0.7 to 1 per cent: samplers start a little off the true state.
    assert bias.abs().max() < false_alarm(2, samples) + 0.05
    # Five standard errors of a variance, and the error of 50 steps.
    assert (cov - torch.eye(2)).abs().max() < 5 * (2 / samples) ** 0.5 + 0.05


def test_a_mean_far_from_zero_does_not_matter():
    # Without the shift, the state at t = 1 would be 0.08 * 100 = 8 standard deviations from where samplers start.
    class Far(VPScoreEstimator):
        def forward(self, input, condition, time):
            mu, s = self.mean_t_fn(time.double()), self.std_fn(time.double())
            mean = 0.5 * (condition.double() + 100)
            return ((mu * mean - input.double()) / (0.5 * mu**2 + s**2)).to(input.dtype)

    estimator = Far(torch.nn.Linear(1, 1), torch.Size([1]), torch.Size([1]), mean_0=torch.tensor([100.0]))
    posterior = TallPosterior.from_sbi(estimator, td.Normal(torch.tensor([100.0]), torch.tensor([1.0])))
    theta = posterior.sample(torch.full((10, 1), 101.0), 4000)
    # Precision 1 + 10, mean (100 + 1010) / 11.
    assert theta.mean().item() == pytest.approx(1110 / 11, abs=6 * 0.3 / 63)
    assert theta.var().item() == pytest.approx(1 / 11, rel=0.15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compose", [False, True])
def test_the_score_is_that_of_sbi_in_other_terms(kind, compose):
    torch.manual_seed(0)
    theta = torch.randn(300, 2) * torch.tensor([2.0, 0.5]) + torch.tensor([5.0, -1.0])
    x = torch.cat([theta, theta[:, :1]], 1) + torch.randn(300, 3)
    estimator = posterior_score_nn(model="mlp", sde_type=kind, compose_standardization=compose)(theta, x)
    score = SbiScore(estimator)
    bound = score.bind(x[:6].reshape(2, 3, 3))
    state = torch.randn(2, 4, 2)
    for t in (0.05, 0.4, 1.0):
        tau, mu, c = score.process.at(t)
        assert mu**2 / c**2 == pytest.approx(score.schedule.alpha(t), rel=1e-9)
        time = torch.tensor([tau])
        assert estimator.mean_t_fn(time).item() == pytest.approx(mu, rel=1e-5)
        assert estimator.std_fn(time).item() ** 2 == pytest.approx(c**2 - mu**2, rel=1e-4)
        result = bound(state, t)
        for b, s, j in ((0, 0, 0), (1, 3, 2), (1, 0, 1)):
            expected = c * estimator.score(
                c * state[b, s : s + 1] + mu * estimator.mean_0, x[3 * b + j][None], time
            )
            torch.testing.assert_close(result[b, s, j], expected.reshape(2), rtol=1e-4, atol=1e-5)
        _, jacobian = bound.with_jacobian(state, t)
        step = 1e-2 * torch.tensor([0.0, 1.0])
        finite = (bound(state + step, t) - bound(state - step, t)) / 2e-2
        torch.testing.assert_close(jacobian[..., 1], finite, rtol=0.1, atol=0.1)
    # The network handed in is left as it was.
    assert next(estimator.parameters()).requires_grad


def test_standardised_networks_are_sampled_in_their_units():
    # compose_standardization: sbi diffuses (theta - shift) / scale.
    class Prior(VPScoreEstimator):
        def forward(self, input, condition, time):
            return -input + 0 * condition  # the score of N(0, I), whatever x says

    estimator = Prior(torch.nn.Linear(1, 1), torch.Size([2]), torch.Size([1]))
    estimator._theta_shift.copy_(MEAN[None])
    estimator._theta_scale.copy_(VARIANCE.sqrt()[None])
    estimator._compose_standardization.fill_(True)
    posterior = TallPosterior.from_sbi(estimator, td.MultivariateNormal(MEAN, torch.diag(VARIANCE)))
    theta = posterior.sample([[0.0]] * 5, 4000)
    white = (theta - MEAN) / VARIANCE.sqrt()
    assert white.mean(0).abs().max() < false_alarm(1, 4000) + 0.02
    assert (white.var(0) - 1).abs().max() < 0.15


def test_a_uniform_prior_keeps_its_bounds():
    torch.manual_seed(0)
    prior = BoxUniform(torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 4.0]))
    theta = prior.sample((200,))
    x = theta + torch.randn(200, 2)
    estimator = posterior_score_nn(model="mlp", sde_type="vp")(theta, x)
    drawn = TallPosterior.from_sbi(estimator, prior, x).sample(x[:5], 300)
    assert bool(prior.support.check(drawn.float()).all())


def test_what_cannot_be_used_is_said():
    theta, x = torch.randn(50, 2), torch.randn(50, 2)
    with pytest.raises(TypeError, match=r"Linear has no score.*NPSE.*FMPE"):
        TallPosterior.from_sbi(torch.nn.Linear(2, 2), td.MultivariateNormal(MEAN, torch.eye(2)))
    estimator = posterior_score_nn(model="mlp", sde_type="vp")(theta, x)
    with pytest.raises(ValueError, match=r"LogNormal prior has no diffused score.*log theta"):
        TallPosterior.from_sbi(estimator, td.LogNormal(torch.zeros(2), torch.ones(2)))
    with pytest.raises(ValueError, match="prior has 3 coordinates, the network 2"):
        TallPosterior.from_sbi(estimator, td.Normal(torch.zeros(3), torch.ones(3)))
    wide = posterior_score_nn(model="mlp", sde_type="vp")(100 * theta, x)
    with pytest.warns(UserWarning, match=r"does not cover its parameters.*compose_standardization"):
        TallPosterior.from_sbi(wide, td.Normal(torch.zeros(2), 100 * torch.ones(2)))


def test_a_posterior_of_sbi_brings_its_prior_and_a_network_needs_one(tmp_path, monkeypatch):
    from sbi.inference import NPSE

    monkeypatch.chdir(tmp_path)  # sbi leaves its logs in the directory it is run in
    prior = BoxUniform(torch.full((2,), -2.0), torch.full((2,), 2.0))
    theta = prior.sample((60,))
    trainer = NPSE(prior, show_progress_bars=False).append_simulations(theta, theta + 0.1)
    network = trainer.train(max_num_epochs=1)
    known = TallPosterior.from_sbi(trainer.build_posterior(network))
    given = TallPosterior.from_sbi(network, prior)
    x, settings = theta[:3], {"steps": 3, "cov_samples": 10}
    assert torch.equal(known.sample(x, 5, settings=settings), given.sample(x, 5, settings=settings))
    with pytest.raises(ValueError, match="does not know the prior it was trained with; give it"):
        TallPosterior.from_sbi(network)


def test_another_prior_than_the_network_was_trained_with_is_warned_of():
    estimator = exact_estimator("vp", mean_0=MEAN, std_0=VARIANCE.sqrt())
    with pytest.warns(AnotherPrior, match="give the one the network was trained with"):
        TallPosterior.from_sbi(estimator, td.MultivariateNormal(MEAN + 50, torch.diag(VARIANCE)))


def exact_flow(noise_scale):
    """sbi's flow matching with the exact velocity of the Gaussian model."""

    class Exact(FlowMatchingEstimator):
        def forward(self, input, condition, time):
            mean, cov = posterior_of_one(condition)
            mu, s = 1 - time.double(), time.double() + self.noise_scale
            gain = torch.linalg.inv(mu**2 * cov + s**2 * torch.eye(2))
            away = (input.double() - mu * mean) @ gain
            return (s * away - (mean + mu * away @ cov)).to(input.dtype)

    return Exact(torch.nn.Linear(1, 1), torch.Size([2]), torch.Size([2]), noise_scale=noise_scale)


@pytest.mark.parametrize(("n", "noise_scale"), [(1, 1e-3), (10, 1e-3), (10, 1e-2)])
def test_an_exact_flow_gives_the_exact_tall_posterior(n, noise_scale):
    posterior = TallPosterior.from_sbi(
        exact_flow(noise_scale), td.MultivariateNormal(MEAN, torch.diag(VARIANCE))
    )
    x = datasets(2, n)
    bias, cov = errors(posterior.sample(x, 1500, settings={"cov_samples": 200}), x)
    assert bias.abs().max() < false_alarm(2, 1500) + 0.05
    assert (cov - torch.eye(2)).abs().max() < 5 * (2 / 1500) ** 0.5 + 0.05


class _Summary(torch.nn.Module):
    """Of a series [time, channel]: its mean over time."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        return self.linear(x.mean(-2))


@pytest.mark.parametrize("build", [posterior_score_nn, posterior_flow_nn])
def test_matrices_and_embeddings_are_taken_and_saved_without_pickle(build, tmp_path):
    torch.manual_seed(0)
    theta = torch.randn(60, 2)
    x = torch.randn(60, 5, 3) + theta[:, :1, None]
    prior = td.Normal(torch.zeros(2), torch.ones(2))

    def built():
        return build(model="mlp", embedding_net=_Summary(), hidden_features=8, num_layers=1)(theta, x)

    estimator = built()
    posterior = TallPosterior.from_sbi(estimator, prior, x)
    settings = {"steps": 4, "cov_samples": 20}
    draws = posterior.sample(x[:4], 10, settings=settings)
    assert draws.shape == (10, 2)
    bound = posterior.engine.score.bind(x[:4].reshape(1, 4, 15))
    tau, mu, c = posterior.engine.score.process.at(0.4)
    state = torch.randn(1, 3, 2)
    expected = c * estimator.score(c * state[0, :1] + mu * estimator.mean_0, x[2][None], torch.tensor(tau))
    torch.testing.assert_close(bound(state, 0.4)[0, 0, 2], expected.reshape(2), rtol=1e-3, atol=1e-4)
    posterior.save(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors"}
    again = TallPosterior.load(tmp_path, network=built())
    assert torch.equal(again.sample(x[:4], 10, settings=settings), draws)
    with pytest.raises(
        ValueError, match=r"holds the weights of a .*code is never stored: give the estimator"
    ):
        TallPosterior.load(tmp_path)
    other = build(model="mlp", hidden_features=16, num_layers=1)(theta, x[:, 0])
    with pytest.raises(DataError, match="do not fit"):
        TallPosterior.load(tmp_path, network=other)
    with pytest.raises(ValueError, match=r"observations of shape \(5, 3\)"):
        posterior.sample(torch.zeros(4, 2, 3), 10)

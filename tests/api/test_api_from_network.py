"""Networks of anyone's: every prediction and process gives the exact tall posterior where the network is exact."""

import math

import pytest
import torch
from api_models import MEAN, NOISE, PRIOR, VARIANCE, datasets, errors, false_alarm, torch_prior
from torch import distributions as td
from torch import nn

from tallsbi import TallPosterior
from tallsbi.schedule import NETWORK, Schedule
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.storage.files import DataError

SCALE = VARIANCE.double().sqrt()
COSINE = (lambda t: math.cos(0.5 * math.pi * t), lambda t: math.sin(0.5 * math.pi * t))
STRAIGHT = (lambda t: 1 - t, lambda t: t)
EXPLODING = (lambda t: 1.0, lambda t: 0.01 * 3000**t)


class Exact(nn.Module):
    """What an exact network predicts for the Gaussian model in standardised units: one of four things."""

    def __init__(self, predicts, mean, std):
        super().__init__()
        self.predicts, self.mean, self.std = predicts, mean, std

    def forward(self, theta, x, t):
        mu, s = self.mean(t[0].item()), self.std(t[0].item())
        prior = PRIOR.normalised(MEAN.double(), SCALE)
        noise = torch.linalg.inv(NOISE / (SCALE[:, None] * SCALE))
        cov = torch.linalg.inv(torch.linalg.inv(prior.cov[0]) + noise)
        mean = (x.double() @ noise) @ cov
        away = (theta.double() - mu * mean) @ torch.linalg.inv(mu**2 * cov + s**2 * torch.eye(2))
        z, start = s * away, mean + mu * away @ cov
        step = 1e-5
        slope = [(f(t[0].item() + step) - f(t[0].item() - step)) / (2 * step) for f in (self.mean, self.std)]
        outputs = {"noise": z, "score": -away, "data": start, "velocity": slope[0] * start + slope[1] * z}
        return outputs[self.predicts].to(theta.dtype)


CASES = {
    "the paper's schedule": ("noise", NETWORK, {}),
    "score": ("score", (lambda t: math.exp(-4 * t * t), lambda t: math.sqrt(-math.expm1(-8 * t * t))), {}),
    "data, cosine": ("data", COSINE, {"t_max": 0.995}),
    "velocity, straight": ("velocity", STRAIGHT, {"t_max": 0.995}),
    "noise, exploding": ("noise", EXPLODING, {"t_min": 1e-5}),
}


@pytest.mark.parametrize("case", CASES)
def test_an_exact_network_gives_the_exact_tall_posterior(case):
    predicts, schedule, times = CASES[case]
    functions = (schedule.sqrt_alpha, schedule.sigma) if isinstance(schedule, Schedule) else schedule
    posterior = TallPosterior.from_network(
        Exact(predicts, *functions),
        torch_prior(),
        2,
        predicts=predicts,
        schedule=schedule,
        theta_mean=MEAN,
        theta_std=VARIANCE.sqrt(),
        x_mean=MEAN,
        x_std=VARIANCE.sqrt(),
        **times,
    )
    x = datasets(2, 10)
    bias, cov = errors(posterior.sample(x, 1500, settings={"cov_samples": 200}), x)
    assert bias.abs().max() < false_alarm(2, 1500) + 0.05
    assert (cov - torch.eye(2)).abs().max() < 5 * (2 / 1500) ** 0.5 + 0.06


def test_a_network_of_tallsbi_gives_the_same_draws_as_its_own_engine():
    """Also Jacobians, and a prior with a latent space of its own."""
    prior = td.Gamma(torch.tensor([3.0, 2.0]), torch.tensor([1.0, 1.0]))
    simulator = lambda theta: theta + torch.randn_like(theta)  # noqa: E731
    fitted = TallPosterior.fit(prior, simulator, simulations=300, epochs=2, hidden=(8, 8), batch_size=64)
    saved = fitted.engine.saved
    n = saved.normaliser
    again = TallPosterior.from_network(
        saved.network,
        prior,
        2,
        theta_mean=n.theta_mean,
        theta_std=n.theta_std,
        x_mean=n.x_mean,
        x_std=n.x_std,
    )
    x = torch.tensor([[3.0, 2.0], [2.0, 1.5], [4.0, 2.0]])
    for method in ("GAUSS_PD", "JAC"):
        settings = {"steps": 6}
        one, other = (p.sample(x, 40, method, settings=settings) for p in (fitted, again))
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.network = ScoreNetwork(Architecture(2, 6, hidden=(width,)))

    def forward(self, theta, x, t):
        return self.network(theta, x.flatten(1), t)


def test_matrices_and_names_survive_the_file(tmp_path):
    prior = {"a": td.Normal(0.0, 1.0), "b": td.Gamma(2.0, 1.0)}
    x = torch.randn(50, 2, 3)
    net = Net()
    posterior = TallPosterior.from_network(net, prior, (2, 3), x=x, x_mean=torch.arange(6.0))
    settings = {"steps": 4, "cov_samples": 20}
    draws = posterior.sample(x[:5], 20, settings=settings)
    with torch.no_grad():
        net.network.trunk.layers[0].weight.zero_()
    assert torch.equal(posterior.sample(x[:5], 20, settings=settings), draws)
    posterior.save(tmp_path)
    again = TallPosterior.load(tmp_path, network=Net())
    assert torch.equal(again.sample(x[:5], 20, settings=settings), draws)
    assert again.prior.names == ("a", "b")
    assert again.training_range.farthest == posterior.training_range.farthest
    with pytest.raises(ValueError, match="holds the weights of a Net, and code is never stored"):
        TallPosterior.load(tmp_path)
    with pytest.raises(DataError, match="do not fit the Net given"):
        TallPosterior.load(tmp_path, network=Net(16))
    (tmp_path / "network.safetensors").write_bytes(b"x")
    with pytest.raises(DataError, match="damaged"):
        TallPosterior.load(tmp_path, network=Net())


def test_functions_of_time_are_given_again(tmp_path):
    posterior = TallPosterior.from_network(Net(), torch_prior(), 6, schedule=COSINE, t_max=0.99)
    posterior.save(tmp_path)
    with pytest.raises(ValueError, match=r"schedule=\(mean, std\)"):
        TallPosterior.load(tmp_path, network=Net())
    again = TallPosterior.load(tmp_path, network=Net(), schedule=COSINE)
    assert again.engine.score.process.t_max == 0.99


@pytest.mark.parametrize(
    ("network", "settings", "message"),
    [
        (Net(), {"predicts": "epsilon"}, "predicts = 'epsilon': it must be one of 'noise'"),
        (Net(), {"schedule": "vp"}, "schedule = 'vp': give a tallsbi.schedule.Schedule"),
        (Net(), {"schedule": STRAIGHT}, r"mean\(1\) = 0.*set t_max"),
        (Net(), {"theta_std": [1.0, 0.0]}, "theta_std.*all positive"),
        (Net(), {"x_mean": [1.0, 0.0]}, "x_mean.*give 6 numbers"),
        (Net(), {"t_min": 2.0}, "t_min = 2.0"),
        (nn.Linear(2, 2), {}, r"network\(theta \[2, 2\], x \[2, 6\], t \[2\]\) failed.*Wrap it"),
        (lambda theta, x, t: x, {}, r"returned \(2, 6\); it must return one vector for each theta"),
        ("net", {}, "give a torch module"),
    ],
)
def test_what_cannot_be_used_is_said(network, settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TallPosterior.from_network(network, torch_prior(), 6, **settings)


def test_habits_of_sbi_get_a_hint():
    posterior = TallPosterior.from_network(Net(), torch_prior(), 6)
    x = torch.zeros(4, 6)
    for call in (
        lambda: posterior.sample((1000,), x=x),
        lambda: posterior.sample((1000,)),
        lambda: posterior.sample(torch.Size([1000]), x=x),
        lambda: posterior.sample(x=x),
        lambda: posterior.sample(x, show_progress_bars=False),
    ):
        with pytest.raises(TypeError, match=r"observations come first.*sample\(x, 1000\)"):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'samples'"):
        posterior.sample(x, samples=3)
    hint = r"^fit\(\) got an unexpected keyword argument 'num_simulations'; here it is 'simulations'\.$"
    with pytest.raises(TypeError, match=hint):
        TallPosterior.fit(torch_prior(), lambda theta: 1 / 0, num_simulations=10)
    with pytest.raises(TypeError, match=r"'workers_count'; it takes simulations, epochs, .*, precision"):
        TallPosterior.fit(torch_prior(), lambda theta: 1 / 0, workers_count=2)
    with pytest.raises(AttributeError, match="no 'set_default_x': observations are an argument"):
        posterior.set_default_x(x)
    with pytest.raises(AttributeError, match="no 'nothing'"):
        _ = posterior.nothing

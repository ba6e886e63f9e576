"""`device=` and `precision=` of the library: what is refused, what is kept, and what draws are made with."""

import pytest
import torch

from tallsbi import TallPosterior
from tallsbi.api import devices
from tallsbi.scores import precision


@pytest.fixture(scope="module")
def fitted():
    draws = torch.Generator().manual_seed(0)
    theta = torch.randn(300, 2, generator=draws)
    x = theta + torch.randn(300, 2, generator=draws)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    return TallPosterior.fit(prior, (theta, x), epochs=5, hidden=(32, 32), progress=False, summaries=False), x


@pytest.fixture
def supported(monkeypatch):
    monkeypatch.setattr(precision, "missing", lambda device: None)


def test_a_gpu_that_is_not_there_is_refused_before_anything_is_simulated(monkeypatch, fitted):
    monkeypatch.setattr(devices, "available", lambda kind: 0)
    prior = torch.distributions.Normal(torch.zeros(2), torch.ones(2))

    def simulator(theta):
        raise AssertionError("simulated")

    message = r"device = 'cuda': torch sees no GPU .* set device='cpu'"
    with pytest.raises(ValueError, match=message):
        TallPosterior.fit(prior, simulator, device="cuda")
    posterior, x = fitted
    for call in (posterior.sample, lambda rows, device: posterior.horizon(simulator, device=device)):
        with pytest.raises(ValueError, match=message):
            call(x[:3], device="cuda")
    with pytest.raises(ValueError, match=message):
        posterior.refine(x[:3], simulator, device="cuda")


@pytest.mark.parametrize("value", ["gpu", "tpu", 1.5, "mps"])
def test_words_that_are_no_device_are_refused(value):
    with pytest.raises(ValueError, match=r"device = .* give 'cpu'"):
        devices.device_of(value)


def test_a_gpu_beyond_the_last_is_refused(monkeypatch):
    monkeypatch.setattr(devices, "available", lambda kind: 2)
    assert devices.device_of("cuda:1") == "cuda:1"
    with pytest.raises(ValueError, match="2 GPU"):
        devices.device_of("cuda:2")


def test_precision_changes_draws_a_little_and_is_kept_on_disk(supported, fitted, tmp_path):
    posterior, x = fitted
    exact = posterior.sample(x[:4], 50, "GAUSS_PD", progress=False)
    assert torch.equal(exact, posterior.sample(x[:4], 50, "GAUSS_PD", device="cpu", precision="float32"))
    reduced = posterior.sample(x[:4], 50, "GAUSS_PD", precision="bfloat16")
    assert 0 < float((reduced - exact).abs().max()) < 0.2
    engine = posterior.engine.placed(precision="bfloat16")
    TallPosterior(engine, posterior.x_dim).save(tmp_path)
    again = TallPosterior.load(tmp_path)
    assert again.engine.precision == "bfloat16"
    assert torch.equal(again.sample(x[:4], 50, "GAUSS_PD"), reduced)


def test_precision_is_refused_where_it_would_be_emulated(monkeypatch, fitted):
    monkeypatch.setattr(precision, "missing", lambda device: "this processor has none")
    posterior, x = fitted
    with pytest.raises(
        precision.PrecisionUnsupported, match="precision = 'bfloat16': this processor has none"
    ):
        posterior.sample(x[:4], 5, precision="bfloat16")


def test_a_network_of_ones_own_says_that_it_stays_on_the_cpu():
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    posterior = TallPosterior.from_network(lambda theta, x, t: 0 * theta, prior, 2)
    with pytest.raises(ValueError, match="device = 'cuda': a ModuleEngine draws with 'cpu' only"):
        posterior.sample(torch.zeros(3, 2), 5, device="cuda")

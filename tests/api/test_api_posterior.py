"""TallPosterior against the closed form, and what must not change a draw."""

import numpy as np
import pytest
import torch
from api_models import datasets, errors, exact_posterior, false_alarm, quick_fit, simulator, torch_prior

from tallsbi import TallPosterior
from tallsbi.api import drawing
from tallsbi.api.fitting import default_epochs


@pytest.mark.parametrize("n", [1, 10, 100])
def test_draws_have_the_moments_of_the_tall_posterior(n):
    x = datasets(3, n)
    theta = exact_posterior().sample(x, 4000, settings={"cov_samples": 200})
    bias, cov = errors(theta, x)
    assert bias.abs().max() < false_alarm(3, 4000) + 0.02  # of 50 steps, see tallsbi.samplers.multistep
    # The standard error of a variance of 4000 draws is 2.2 per cent, that of a correlation 1.6.
    assert (cov - torch.eye(2)).abs().max() < 6 * 0.022


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("GAUSS", {"steps": 400, "cov_samples": 500}),
        ("JAC", {"steps": 150}),
        ("JAC_PD", {}),
        ("GAUSS_PD-clip", {}),
        ("LANGEVIN", {"steps": 200}),
    ],
)
def test_every_kind_of_method_is_available(method, settings):
    x = datasets(2, 10)
    bias, cov = errors(exact_posterior().sample(x, 400, method, settings=settings), x)
    assert bias.abs().max() < 0.35
    assert (cov.diagonal(dim1=-2, dim2=-1) - 1).abs().max() < 0.5


@pytest.fixture(scope="module")
def trained():
    return TallPosterior.fit(
        torch_prior(), simulator, simulations=8000, epochs=60, batch_size=64, hidden=(64, 64), seed=2
    )


def test_a_trained_network_gives_the_tall_posterior(trained):
    # What the network adds grows with n: scores of n observations add up, and so do their errors.
    for n, samples, bias_bar, spread_bar in ((1, 500, 0.3, 0.25), (10, 300, 0.8, 0.5)):
        x = datasets(4, n, seed=4)
        bias, cov = errors(trained.sample(x, samples, settings={"cov_samples": 60}), x)
        assert bias.square().mean().sqrt() < bias_bar, n
        assert (cov.diagonal(dim1=-2, dim2=-1).mean() - 1).abs() < spread_bar, n


@pytest.mark.parametrize(
    ("simulations", "epochs"), [(100, 1000), (5_000, 200), (20_000, 100), (80_000, 50), (10**7, 20)]
)
def test_more_simulations_need_fewer_epochs(simulations, epochs):
    assert default_epochs(simulations) == epochs


def test_epochs_may_be_left_out():
    facts = quick_fit(simulations=2_000, epochs=None, early_stopping=False).engine.saved.facts
    assert facts["epochs"] == default_epochs(2_000) == 316
    assert facts["settings"]["decay"]


def test_early_stopping_keeps_the_best_epoch():
    stopped = quick_fit(epochs=300, early_stopping=True, patience=5, batch_size=16, hidden=(32, 32))
    facts = stopped.engine.saved.facts
    assert facts["stopped_early"]
    assert len(stopped.losses) == facts["epochs"] < 300
    assert facts["kept_epoch"] == facts["best_epoch"]
    assert facts["validation_loss"] == pytest.approx(stopped.losses["val_loss"].min(), rel=1e-6)


def test_the_same_seed_gives_the_same_network_and_another_another():
    # The simulator draws from torch's global stream, which the caller keeps.
    torch.manual_seed(7)
    first = quick_fit(seed=1)
    after = torch.rand(1)
    torch.manual_seed(8)
    second, other = quick_fit(seed=1), quick_fit(seed=2)
    x = datasets(1, 3)
    torch.testing.assert_close(first.sample(x), second.sample(x), rtol=0, atol=0)
    assert not torch.equal(first.sample(x), other.sample(x))
    torch.manual_seed(7)
    assert torch.equal(after, torch.rand(1))


def test_a_simulator_in_numpy_is_deterministic_too():
    def simulate(theta):
        return theta.numpy() + np.random.standard_normal(theta.shape)  # noqa: NPY002

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    x = datasets(1, 2)
    assert torch.equal(quick_fit(simulate).sample(x, 10), quick_fit(simulate).sample(x, 10))
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_pairs_and_simulator_are_the_same_training():
    theta = torch_prior().sample((400,))
    x = simulator(theta)
    one = quick_fit((theta, x))
    other = quick_fit((theta.numpy(), x.tolist()))
    probe = datasets(2, 3)
    assert torch.equal(one.sample(probe, 20), other.sample(probe, 20))


def test_draws_depend_on_the_seed_and_not_on_the_other_datasets():
    posterior, x = quick_fit(), datasets(3, 4)
    joint = posterior.sample(x, 50, seed=5)
    assert joint.shape == (3, 50, 2)
    assert torch.equal(joint, posterior.sample(x, 50, seed=5))
    assert not torch.equal(joint, posterior.sample(x, 50, seed=6))
    for b in range(3):
        alone = posterior.sample(x[b], 50, seed=5)
        assert alone.shape == (50, 2)
        # Blocks of another size round differently.
        torch.testing.assert_close(alone, joint[b], rtol=1e-3, atol=1e-3)
    assert not torch.allclose(joint[0] - joint[0].mean(0), joint[1] - joint[1].mean(0), atol=1e-2)


def test_datasets_in_turns_are_the_datasets_at_once(monkeypatch):
    posterior, x = exact_posterior(), datasets(5, 4)
    at_once = posterior.sample(x, 20)
    monkeypatch.setattr(drawing, "_LARGEST_ARRAY", 2 * 500 * 4 * 2)
    torch.testing.assert_close(posterior.sample(x, 20), at_once)


def test_numpy_lists_and_tensors_are_the_same_data():
    posterior, x = quick_fit(), datasets(1, 3)[0]
    expected = posterior.sample(x, 10)
    assert torch.equal(expected, posterior.sample(x.numpy(), 10))
    assert torch.equal(expected, posterior.sample(x.tolist(), 10))
    assert torch.equal(expected, posterior.sample(x.numpy()[::-1], 10, seed=0)) is False


def test_log_x_is_standardised_in_log_space():
    def positive(theta):
        return simulator(theta).exp()

    posterior = quick_fit(positive, log_x=True)
    x = datasets(1, 3).exp()
    assert bool(posterior.sample(x, 10).isfinite().all())
    with pytest.raises(ValueError, match=r"observation 1 of dataset 0 is -2 in coordinate 0.*log_x"):
        posterior.sample([[1.0, 2.0], [-2.0, 1.0]], 10)

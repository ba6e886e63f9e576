"""The loop: it learns a posterior that is known, stops when it should, and keeps what it says."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from oracles import generator
from problems import SHORT_TRAINING, LinearGaussian

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.gauss import Gauss
from tallsbi.priors.gaussian import Gaussian
from tallsbi.random import torch_generator
from tallsbi.samplers.base import Noise
from tallsbi.schedule import NETWORK
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.training import checkpoint
from tallsbi.training.data import prepare
from tallsbi.training.loop import TrainingDiverged, new_run, train
from tallsbi.training.loss import row_losses, validation_rows
from tallsbi.training.settings import TrainingSettings

CASE = LinearGaussian()


@pytest.fixture(scope="module")
def trained():
    theta, x = CASE.simulate(16000)
    settings = TrainingSettings(
        learning_rate=1e-3, batch_size=256, epochs=100, hidden=(64, 64), ema_decay=0.998, validate_every=20
    )
    return train(theta, x, settings, NETWORK, seed=1)


@pytest.mark.parametrize("t", [0.1, 0.3, 0.6])
def test_it_learns_the_score_of_a_gaussian(trained, t):
    """Root mean squared error of the predicted noise, sigma times the score, at points of the diffusion."""
    theta, x = CASE.simulate(2000, seed=9)
    normaliser = trained.data.normaliser
    z = torch.randn(theta.shape, generator=generator(2))
    point = NETWORK.sqrt_alpha(t) * normaliser.theta(theta) + NETWORK.sigma(t) * z
    observation = normaliser.x(x)
    score = NetworkScore(trained.network, trained.schedule).bind(observation[:, None])(point[:, None], t)[
        :, 0, 0
    ]
    exact = CASE.single_score(point, observation, t, normaliser, NETWORK)
    error = NETWORK.sigma(t) * (score - exact)
    assert float(error.square().mean().sqrt()) < 0.06
    assert float((NETWORK.sigma(t) * exact).square().mean().sqrt()) > 0.3


def test_gauss_samples_the_tall_posterior_with_it(trained):
    """Means within 0.3 and spreads within a tenth of the exact posterior standard deviations."""
    n, normaliser = 8, trained.data.normaliser
    rng = np.random.default_rng(5)
    x = 0.5 + rng.standard_normal((n, 2)) * np.sqrt(CASE.noise)
    prior = Gaussian(torch.zeros(2), torch.diag(torch.tensor(CASE.prior).float()))
    mean, std = normaliser.theta_mean.float(), normaliser.theta_std.float()
    problem = Problem(
        NetworkScore(trained.network, trained.schedule),
        prior.normalised(mean, std),
        normaliser.x(torch.from_numpy(x).float())[None],
    )
    gauss = Gauss(steps=100, covariances="published", cov_steps=50, cov_samples=500)
    samples = gauss.sample(problem, 1000, Noise([generator(3)]))
    draws = normaliser.latent(samples.theta[0]).double().numpy()
    exact_mean, exact_cov = CASE.posterior(x)
    spread = np.sqrt(np.diag(exact_cov))
    assert np.abs((draws.mean(0) - exact_mean) / spread).max() < 0.3
    assert np.abs(draws.std(0) / spread - 1).max() < 0.1


def test_losses_are_a_tidy_frame(trained):
    frame = trained.losses
    assert list(frame.columns) == ["epoch", "train_loss", "val_loss"]
    assert frame["epoch"].tolist() == list(range(1, 101))
    assert frame["val_loss"].notna().to_numpy().nonzero()[0].tolist() == [19, 39, 59, 79, 99]
    assert frame["train_loss"].iloc[-1] < 0.8 * frame["train_loss"].iloc[0]
    assert frame["val_loss"].iloc[-1] == pytest.approx(trained.facts["validation_loss"])


def test_published_keeps_the_final_average():
    theta, x = CASE.simulate(100)
    long = train(theta, x, replace(SHORT_TRAINING, epochs=30, learning_rate=0.05), NETWORK, seed=1)
    assert long.facts["epochs"] == long.facts["kept_epoch"] == 30
    assert not long.facts["stopped_early"]
    assert long.facts["validation_loss"] == pytest.approx(float(long.losses["val_loss"].iloc[-1]), rel=1e-12)


def overfit(**changes):
    """So few rows and so large a rate that the validation loss rises again."""
    theta, x = CASE.simulate(60)
    settings = replace(
        SHORT_TRAINING, epochs=300, learning_rate=0.01, hidden=(64, 64), validate_every=1, ema_decay=0.9, min_epochs=0,
    )  # fmt: skip
    return train(theta, x, replace(settings, **changes), NETWORK, seed=1)


def test_early_stopping_keeps_the_best_and_stops_on_time():
    stopped = overfit(early_stopping=True, patience=25)
    curve = stopped.losses["val_loss"]
    best = int(curve.idxmin()) + 1
    assert stopped.facts["best_epoch"] == stopped.facts["kept_epoch"] == best
    assert stopped.facts["epochs"] == best + 25 < 300
    assert stopped.facts["stopped_early"]
    # Really the weights of that epoch: their loss, computed again from the returned network.
    data = stopped.data
    rows = validation_rows(
        data.held_out_theta,
        data.held_out_x,
        NETWORK,
        3,
        SHORT_TRAINING.validation_draws,
        torch_generator(1, "training", "validation"),
    )
    again = float(row_losses(stopped.network, rows, SHORT_TRAINING.validation_draws).mean())
    assert again == pytest.approx(float(curve.min()), rel=1e-9)
    assert float(curve.iloc[-1]) > 1.02 * again


def test_without_early_stopping_the_same_run_goes_on():
    stopped, full = overfit(early_stopping=True, patience=25), overfit()
    assert full.facts["epochs"] == 300
    shared = len(stopped.losses)
    np.testing.assert_array_equal(stopped.losses["val_loss"], full.losses["val_loss"][:shared])


def test_min_epochs_are_run():
    stopped = overfit(early_stopping=True, patience=1, min_epochs=80)
    assert stopped.facts["epochs"] >= 80


def test_patience_shorter_than_the_time_between_validations():
    """No improvement is seen before the next validation, and none can be missed by stopping before it."""
    stopped = overfit(early_stopping=True, patience=1, validate_every=10)
    curve = stopped.losses["val_loss"].dropna()
    assert stopped.facts["epochs"] == stopped.facts["best_epoch"] + 10
    assert float(curve.iloc[-1]) > float(curve.iloc[-2]) == stopped.facts["best_validation_loss"]


def test_validation_loss_has_no_noise_of_its_own():
    """With a vanishing learning rate and an average that hardly moves the curve is flat."""
    curve = overfit(epochs=5, learning_rate=1e-12)
    assert float(curve.losses["val_loss"].std()) < 1e-6
    assert float(curve.losses["train_loss"].std()) > 1e-3


def test_learning_rates_hold_out_the_same_rows():
    one, two = (overfit(epochs=2, learning_rate=rate) for rate in (1e-3, 1e-4))
    assert torch.equal(one.data.held_out_x, two.data.held_out_x)
    assert not torch.equal(one.validation_losses, two.validation_losses)


def test_the_same_seed_gives_the_same_network_and_another_another():
    theta, x = CASE.simulate(100)
    one, two, other = (train(theta, x, SHORT_TRAINING, NETWORK, seed=seed) for seed in (1, 1, 2))
    first, second, third = (
        torch.cat([p.flatten() for p in r.network.parameters()]) for r in (one, two, other)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_a_degenerate_column_does_no_harm():
    theta, x = CASE.simulate(200)
    constant = torch.cat([x, torch.zeros(200, 1)], dim=1)
    trained = train(theta, constant, SHORT_TRAINING, NETWORK, seed=1)
    assert bool(trained.losses["train_loss"].notna().all())
    assert all(bool(p.isfinite().all()) for p in trained.network.parameters())


def test_a_diverging_training_names_the_rate():
    theta, x = CASE.simulate(200)
    with pytest.raises(TrainingDiverged, match="learning_rate = 1e\\+30"):
        train(theta, x, replace(SHORT_TRAINING, learning_rate=1e30), NETWORK, seed=1)


def test_progress_sees_every_epoch():
    epochs_seen = []

    def progress(epochs):
        for epoch in epochs:
            yield epoch
            epochs_seen.append(epoch)

    theta, x = CASE.simulate(100)
    train(theta, x, SHORT_TRAINING, NETWORK, seed=1, progress=progress)
    assert len(epochs_seen) >= SHORT_TRAINING.epochs - 1


def test_the_split_is_a_partition_of_the_normalised_rows():
    theta, x = CASE.simulate(50)
    data = prepare(theta, x, 0.2, generator(1))
    assert (len(data.theta), len(data.held_out_theta)) == (40, 10)
    both = torch.cat(
        [torch.cat([data.theta, data.x], 1), torch.cat([data.held_out_theta, data.held_out_x], 1)]
    )
    whole = torch.cat([data.normaliser.theta(theta), data.normaliser.x(x)], 1)
    torch.testing.assert_close(both[both[:, 0].argsort()], whole[whole[:, 0].argsort()], rtol=0, atol=0)
    with pytest.raises(ValueError, match="give more rows"):
        prepare(theta[:2], x[:2], 0.2, generator(1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("ema_decay", 1.0),
        ("validation_share", 1.0),
        ("patience", 0),
    ],
)
def test_settings_that_make_no_sense_are_named(name, value):
    with pytest.raises(ValueError, match=rf"training\.{name} = {value}"):
        TrainingSettings(**{name: value})


def test_settings_from_a_configuration():
    settings = TrainingSettings.from_json({"hidden": [8, 4], "epochs": 3})
    assert settings == TrainingSettings(hidden=(8, 4), epochs=3)
    assert TrainingSettings.from_json(settings.to_json()) == settings
    with pytest.raises(ValueError, match=r"training\.depth = 3.*learning_rate"):
        TrainingSettings.from_json({"depth": 3})


def test_rate_is_fixed_or_falls_to_zero_after_a_warm_up():
    assert {TrainingSettings(learning_rate=0.1).rate(done) for done in (0.0, 0.5, 1.0)} == {0.1}
    falling = TrainingSettings(learning_rate=0.1, decay=True)
    rates = [falling.rate(done) for done in (0.0, 0.01, 0.1, 0.5, 0.9, 1.0)]
    assert rates[0] == 0.0
    assert rates[1] == pytest.approx(0.05, rel=0.01)
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[3] == pytest.approx(0.05)
    assert rates[-1] == pytest.approx(0.0, abs=1e-12)


def test_falling_rate_ends_at_zero_also_after_an_interruption(tmp_path):
    """The weights hardly move in the last epoch of four, and a resumed training takes the same steps."""
    theta, x = CASE.simulate(640)
    settings = TrainingSettings(learning_rate=1e-2, decay=True, batch_size=16, epochs=4, hidden=(16,))
    whole = new_run(theta, x, settings, NETWORK, seed=3)
    lengths = []
    for _ in range(4):
        before = whole.weights.clone()
        whole.one_epoch()
        lengths.append(float((whole.weights - before).norm()))
    assert lengths[3] < 0.25 * lengths[1]

    first, second = (new_run(theta, x, settings, NETWORK, seed=3) for _ in range(2))
    first.one_epoch()
    checkpoint.save(tmp_path, "name", first.state())
    second.restore(checkpoint.load(tmp_path, "name"))
    for _ in range(3):
        second.one_epoch()
    assert torch.equal(second.weights, whole.weights)

"""Training on sets: what an example is, that a deep set learns a known posterior, resumes, and keeps on disk."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from oracles import generator
from problems import SHORT_TRAINING

from tallsbi.algorithms import build
from tallsbi.api.engine import NetworkEngine
from tallsbi.priors.gaussian import Gaussian
from tallsbi.schedule import NETWORK
from tallsbi.scores.group_network import read_group_network
from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.scores.network_file import write_network
from tallsbi.storage.files import DataError
from tallsbi.training import checkpoint, groups
from tallsbi.training.gradient import PerceptronGradient, flatten
from tallsbi.training.groups import draw_groups, prepare_groups, train_on_groups
from tallsbi.training.loss import diffuse, epoch_rows
from tallsbi.training.settings import TrainingSettings

NOISE = 1.5


def simulate(rows, places, seed=0):
    """theta ~ N(0, I_2), x = theta + N(0, 2.25 I): the mean of a set is sufficient."""
    draws = generator(seed)
    theta = torch.randn(rows, 2, generator=draws)
    return theta, theta[:, None] + NOISE * torch.randn(rows, places, 2, generator=draws)


def test_mean_trains_on_the_encoded_rows_and_draws_sizes_once():
    theta, x = simulate(300, 5)
    trained = train_on_groups(theta, x, GroupEncoding("mean", 4), SHORT_TRAINING, NETWORK, seed=1)
    assert trained.network.architecture.x_dim == 2 + 4
    assert trained.facts["encoding"] == {"kind": "mean", "n_max": 4, "log_x": False}
    latent = trained.data.x.double() * trained.data.normaliser.x_std + trained.data.normaliser.x_mean
    sizes = latent[:, 2:].round().sum(0)
    assert sizes.sum() == 240
    # 240 sizes, each of four: the bound is six standard errors wide, below 10^-8 each.
    assert (sizes - 60).abs().max() < 6 * (240 * 0.25 * 0.75) ** 0.5


def test_drawn_sets_have_uniform_sizes_and_members_of_their_own_parameter():
    """2,000 sizes, each of three: bounds of six standard errors."""
    full = GroupEncoding("deep_set", 3).rows(
        torch.arange(2000.0)[:, None, None] + torch.tensor([0.0, 0.25, 0.5])[:, None], torch.full((2000,), 3)
    )
    rows = draw_groups(full, GroupEncoding("deep_set", 3), generator(2))
    sizes = rows[:, 3:].argmax(1) + 1
    assert (torch.bincount(sizes)[1:] - 2000 / 3).abs().max() < 6 * (2000 * 2 / 9) ** 0.5
    for place in range(3):
        taken = sizes > place
        assert (rows[~taken, place] == 0).all()
        fraction = rows[taken, place] - torch.arange(2000.0)[taken]
        assert set(fraction.tolist()) == {0.0, 0.25, 0.5}


def test_all_places_are_standardised_alike():
    theta, x = simulate(400, 3)
    x[..., 1] = 7.0  # never varies
    data = prepare_groups(theta, x, GroupEncoding("deep_set", 3), 0.2, generator(1))
    pooled = x[..., 0].double()
    mean, std = data.normaliser.x_mean, data.normaliser.x_std
    torch.testing.assert_close(mean[:6:2], pooled.mean().repeat(3))
    torch.testing.assert_close(std[:6:2], pooled.std().repeat(3))
    assert (std[1:6:2] == 0).all()
    assert (data.x[:, 1:6:2] == 0).all()
    assert (mean[6:] == 0).all()
    assert (std[6:] == 1).all()
    assert (data.x[:, 6:] == torch.tensor([0.0, 0.0, 1.0])).all()
    assert (len(data.held_out_x), len(data.x)) == (80, 320)


def test_gradient_of_the_trunk_is_that_of_the_written_out_one():
    """The trunk alone, fed with the codes, is an ordinary network."""
    theta, x = simulate(64, 2)
    encoding = GroupEncoding("deep_set", 2)
    run = groups.GroupRun(
        prepare_groups(theta, x, encoding, 0.2, generator(1)), encoding, SHORT_TRAINING, NETWORK, 1
    )
    rows = epoch_rows(run.data.theta, draw_groups(run.full, encoding, generator(2)), NETWORK, 3, generator(3))
    loss = run.gradient(rows)
    a = run.network.architecture
    inputs = rows.inputs.tensor_split((2, 2 + a.x_dim), dim=1)
    codes = run.network.x_embedding(inputs[1]).detach()
    written = PerceptronGradient(_trunk_only(run.network), len(rows))
    expected = written(replace(rows, inputs=torch.cat([inputs[0], codes, inputs[2]], dim=1)))
    torch.testing.assert_close(loss, expected)
    trunk = written.flat.numel()
    torch.testing.assert_close(run.gradient.flat[-trunk:], written.flat)
    assert (run.gradient.flat[:-trunk] != 0).float().mean() > 0.3
    again = run.gradient(rows)
    torch.testing.assert_close(run.gradient.flat[-trunk:], written.flat)  # nothing is left of the first call
    torch.testing.assert_close(again, loss)


def _trunk_only(network):
    """The ordinary network that takes the codes, with the same trunk."""
    a = network.architecture
    plain = ScoreNetwork(Architecture(a.theta_dim, a.parts[1], a.hidden, a.frequencies, a.layer_norm))
    plain.trunk.load_state_dict(network.trunk.state_dict())
    flatten(plain)
    return plain


def learn(kind, seed=1):
    """With the study's own trunk: after a training this short, blocks composed with a smaller one diverge."""
    theta, x = simulate(4000, 4)
    settings = TrainingSettings(
        learning_rate=1e-3, batch_size=128, epochs=50, ema_decay=0.995, validate_every=10
    )
    return train_on_groups(theta, x, GroupEncoding(kind, 4), settings, NETWORK, seed=seed)


@pytest.fixture(scope="module")
def trained():
    return learn("deep_set")


@pytest.mark.parametrize("size", [1, 2, 4])
def test_deep_set_learns_the_posterior_of_a_set(trained, size):
    """Root mean squared error of the predicted noise against the best prediction from the set.

    0.04 to 0.05 is the error of so short a training. The best predictions from fewer or more members are
    further away: a network blind to members or size would fail.
    """
    theta, x = simulate(2000, 4, seed=5)
    rows = GroupEncoding("deep_set", 4).rows(x, torch.full((2000,), size))
    normaliser = trained.data.normaliser
    draws = generator(6)
    t, z = 0.9 * torch.rand(2000, generator=draws) + 0.05, torch.randn(2000, 2, generator=draws)
    point = diffuse(normaliser.theta(theta), t, z, NETWORK)
    predicted = trained.network(point, normaliser.x(rows), t)

    def error(members):
        return float((predicted - best_noise(point, x[:, :members], t, normaliser)).square().mean().sqrt())

    assert error(size) < 0.08
    assert min(error(other) for other in (1, 2, 4) if other != size) > 0.12


def best_noise(point, x, t, normaliser):
    """E[z | theta_t, set] = sigma (theta_t - sqrt(alpha) mean) / (alpha V + sigma^2), in normalised space."""
    variance = 1 / (1 + x.shape[1] / NOISE**2)
    mean = variance * x.double().sum(1) / NOISE**2
    mean, variance = (mean - normaliser.theta_mean) / normaliser.theta_std, variance / normaliser.theta_std**2
    t = t.double()[:, None]
    residual = point.double() - NETWORK.sqrt_alpha(t) * mean
    return NETWORK.sigma(t) * residual / (NETWORK.alpha(t) * variance + NETWORK.sigma2(t))


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
def test_gauss_on_blocks_finds_the_tall_posterior(trained, kind):
    """n = 10 in blocks of four, four and two: precision 1 + 10 / 2.25.

    The tolerances leave room for the training's own error. With the prior in every block and not taken out
    again the mean would be off by 1.1 posterior standard deviations, with the power 1 - n by 19.
    """
    learned = trained if kind == "deep_set" else learn(kind)
    x = torch.tensor([2.0, -1.0]) + NOISE * torch.randn(1, 10, 2, generator=generator(21))
    posterior = NetworkEngine(learned.saved("toy"), Gaussian(torch.zeros(2), torch.eye(2)))
    blocks = GroupEncoding(kind, 4).blocks(x)
    run = posterior.sample(build("GAUSS", {"steps": 100}), blocks, 1000, [generator(22)])
    precision = 1 + 10 / NOISE**2
    mean, std = x[0].sum(0) / NOISE**2 / precision, precision**-0.5
    assert ((run.theta[0].mean(0) - mean) / std).abs().max() < 0.5
    assert (run.theta[0].std(0) / std - 1).abs().max() < 0.25


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
def test_logarithms_are_part_of_the_encoding(kind):
    """Training on exp(x) in logarithms is training on x, up to rounding."""
    theta, x = simulate(200, 3)
    plain = train_on_groups(theta, x, GroupEncoding(kind, 3), SHORT_TRAINING, NETWORK, seed=1)
    logs = train_on_groups(
        theta, x.exp(), GroupEncoding(kind, 3, log_x=True), SHORT_TRAINING, NETWORK, seed=1
    )
    assert not logs.data.normaliser.log_x
    np.testing.assert_allclose(logs.losses.train_loss, plain.losses.train_loss, rtol=1e-3)


def test_validation_loss_falls_and_facts_are_there(trained):
    losses = trained.losses.val_loss.dropna()
    assert losses.iloc[-1] < 0.8 * losses.iloc[0]
    assert trained.facts["encoding"]["kind"] == "deep_set"
    assert trained.facts["validation_rows"] == 800


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
def test_round_trip_on_disk(tmp_path, kind):
    theta, x = simulate(200, 3)
    encoding = GroupEncoding(kind, 3)
    before = train_on_groups(theta, x, encoding, SHORT_TRAINING, NETWORK, seed=1).saved("toy")
    path = tmp_path / "net.safetensors"
    write_network(before, path)
    after, read = read_group_network(path)
    assert read == encoding
    assert after.network.architecture == before.network.architecture
    rows = before.normaliser.x(encoding.blocks(x[:2, :2].double())).float()
    points = torch.randn(2, 5, 2, generator=generator(4))
    assert torch.equal(
        NetworkScore(after.network, after.schedule).bind(rows)(points, 0.3),
        NetworkScore(before.network, before.schedule).bind(rows)(points, 0.3),
    )
    assert torch.equal(after.validation_losses, before.validation_losses)
    assert (after.task, after.facts) == (before.task, before.facts)
    assert json.loads(path.with_suffix(".json").read_text())["training"]["encoding"]["n_max"] == 3
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match="damaged"):
        read_group_network(path)


def test_a_network_without_an_encoding_is_refused(tmp_path):
    theta, x = simulate(200, 3)
    saved = train_on_groups(theta, x, GroupEncoding("deep_set", 3), SHORT_TRAINING, NETWORK, seed=1).saved(
        "toy"
    )
    write_network(replace(saved, facts={}), tmp_path / "net.safetensors")
    with pytest.raises(DataError, match="network on groups"):
        read_group_network(tmp_path / "net.safetensors")


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
def test_an_interrupted_training_ends_as_if_it_had_not_been(tmp_path, kind):
    theta, x = simulate(200, 3)

    def run(folder=None, progress=iter):
        return train_on_groups(
            theta, x, GroupEncoding(kind, 3), SHORT_TRAINING, NETWORK, seed=1,
            checkpoint_dir=folder, checkpoint_seconds=0, progress=progress,
        )  # fmt: skip

    def cut(epochs):
        for epoch in epochs:
            if epoch == 3:
                raise KeyboardInterrupt
            yield epoch

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, cut)
    assert (tmp_path / checkpoint.FILE).exists()
    epochs_run = []
    resumed = run(tmp_path, lambda epochs: (epochs_run.append(epoch) or epoch for epoch in epochs))
    assert epochs_run == [3, 4, 5, 6]
    whole = run()
    for ours, theirs in zip(resumed.network.parameters(), whole.network.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert resumed.losses.equals(whole.losses)


def test_wrong_settings_are_named():
    theta, x = simulate(50, 3)
    with pytest.raises(ValueError, match=r"n_max = 4.*3 observations"):
        train_on_groups(theta, x, GroupEncoding("mean", 4), SHORT_TRAINING, NETWORK, seed=1)
    with pytest.raises(ValueError, match=r"drop_context = 0\.2"):
        train_on_groups(
            theta, x, GroupEncoding("mean", 3), replace(SHORT_TRAINING, drop_context=0.2), NETWORK, seed=1
        )
    with pytest.raises(ValueError, match="validation_share"):
        prepare_groups(theta[:2], x[:2], GroupEncoding("deep_set", 3), 0.2, generator(1))

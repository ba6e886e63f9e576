"""Observations as they are: shapes, lengths, conditions, datasets of different n, data frames."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from api_models import datasets, exact_posterior, quick_fit
from torch import nn
from torch.distributions import Normal

from tallsbi import CNN, GRU, MLP, TallPosterior
from tallsbi.api.layout import Layout
from tallsbi.scores.embedded_network import EmbeddingNeeded

PRIOR = [Normal(0.0, 1.0), Normal(0.0, 1.0)]
QUICK_SETTINGS = {"simulations": 200, "epochs": 2, "hidden": (8,), "batch_size": 64, "early_stopping": False}


def series(theta, steps=12):
    """Level and slope of a series of two channels, [N, steps, 2]."""
    t = torch.linspace(-1, 1, steps)
    x = torch.stack([theta[:, :1] + 0 * t, theta[:, 1:] * t], dim=-1)
    return x + 0.3 * torch.randn_like(x)


class Own(nn.Module):
    """Lazy layers, batch normalisation and dropout: sizes, buffers and noise of a module's own."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.LazyLinear(8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 5)
        )

    def forward(self, x):
        return self.layers(x)


@pytest.mark.parametrize("embedding", ["mlp", GRU(4, 8), CNN(4, (4,), 3, axes=1), Own()])
def test_series_through_embeddings(embedding, tmp_path):
    posterior = TallPosterior.fit(PRIOR, series, embedding=embedding, **QUICK_SETTINGS)
    x = series(torch.zeros(6, 2)).view(2, 3, 12, 2)
    draws = posterior.sample(x, 20, settings={"cov_samples": 20})
    assert draws.shape == (2, 20, 2)
    assert torch.equal(draws[1], posterior.sample(x[1], 20, settings={"cov_samples": 20}))
    posterior.save(tmp_path / "saved")
    if isinstance(embedding, Own):
        with pytest.raises(EmbeddingNeeded, match=r"class .*Own, .* load\(folder, embedding=...\)"):
            TallPosterior.load(tmp_path / "saved")
        with pytest.raises(EmbeddingNeeded, match="gives 24 features; the network was trained with 5"):
            TallPosterior.load(tmp_path / "saved", nn.Flatten())
    again = TallPosterior.load(tmp_path / "saved", Own() if isinstance(embedding, Own) else None)
    assert torch.equal(again.sample(x, 20, settings={"cov_samples": 20}), draws)


def test_an_embedding_learns():
    posterior = TallPosterior.fit(
        PRIOR, series, embedding=GRU(8, 16), simulations=1500, epochs=40, hidden=(32, 32), learning_rate=5e-3
    )
    truth = torch.tensor([[1.0, -1.0]])
    draws = posterior.sample(series(truth.expand(4, 2)), 200)
    assert (draws.mean(0) - truth[0]).abs().max() < 0.5
    assert draws.std(0).max() < 0.5


@pytest.mark.parametrize(
    ("shape", "embedding"), [((6, 7), CNN(3, (4,), 3)), ((2, 6, 7), "cnn"), ((2, 3), MLP(3, (8,)))]
)
def test_images_and_matrices_go_through_embeddings(shape, embedding):
    def image(theta):
        return theta.sum(1).view(-1, *[1] * len(shape)) + torch.randn(len(theta), *shape)

    posterior = TallPosterior.fit(PRIOR, image, embedding=embedding, **QUICK_SETTINGS)
    x = image(torch.zeros(3, 2))
    assert posterior.sample(x, 10, settings={"cov_samples": 10}).shape == (10, 2)
    named = ", ".join(map(str, shape))
    with pytest.raises(ValueError, match=re.escape(f"shape ({named}); give n of one dataset, [n, {named}]")):
        posterior.sample(x[..., 1:], 10)
    with pytest.raises(ValueError, match=r"one observation is x_obs\[None\]"):
        posterior.sample(x[0], 10)


def test_matrices_need_no_embedding():
    posterior = TallPosterior.fit(PRIOR, series, **QUICK_SETTINGS)
    assert posterior.sample(series(torch.zeros(3, 2)), 10, settings={"cov_samples": 10}).shape == (10, 2)


def ragged(theta):
    """Series of 3 to 8 steps."""
    lengths = torch.randint(3, 9, (len(theta),)).tolist()
    return [row[0] + 0.3 * torch.randn(length, 1) for row, length in zip(theta, lengths, strict=True)]


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 4)

    def forward(self, x, mask):
        assert mask.dtype == torch.bool
        assert mask.shape == x.shape[:2]
        total = (x[..., 0] * mask).sum(1) / mask.sum(1).clamp_min(1)
        return self.linear(torch.stack([total, mask.sum(1).to(x)], dim=1))


@pytest.mark.parametrize("embedding", [GRU(4, 8), CNN(4, (4,), 3, axes=1), Masked(), None])
def test_series_may_differ_in_length(embedding):
    posterior = TallPosterior.fit(PRIOR, ragged, embedding=embedding, **QUICK_SETTINGS)
    few = {"cov_samples": 10}
    x = ragged(torch.zeros(4, 2))
    draws = posterior.sample(x, 10, settings=few)
    assert draws.shape == (10, 2)
    both = posterior.sample([x, x[:2]], 10, settings=few)
    assert torch.equal(both[0], draws)
    assert both[1].shape == (10, 2)
    # What stands behind the end of a series does not count.
    if isinstance(embedding, GRU):
        rows = posterior.layout.datasets(x).groups[0]
        inner, flags = posterior.engine.saved.network.x_embedding, rows[..., 8:16] > 0.5
        changed = rows.clone()
        changed[..., :8][flags] = 5.0
        assert torch.equal(inner(rows.float())[:, :, :4], inner(changed.float())[:, :, :4])
    with pytest.raises(ValueError, match=r"shape \(9, 1\); the longest .* \(8, 1\).* none that are longer"):
        posterior.sample([*x, torch.zeros(9, 1)], 10)
    with pytest.raises(
        ValueError, match=r"shape \(6, 2\); .* only the length of the first axis may be another"
    ):
        posterior.sample([torch.zeros(6, 2), torch.zeros(5, 2)], 10)
    with pytest.raises(
        ValueError, match=r"shape \(5, 1\): .* a list of arrays, and a single one is \[x_obs\]"
    ):
        posterior.sample(torch.zeros(5, 1), 10)


def test_a_module_without_a_mask_is_refused():
    with pytest.raises(ValueError, match="Own takes no mask; give its `forward` a second argument, mask"):
        TallPosterior.fit(PRIOR, ragged, embedding=Own(), **QUICK_SETTINGS)


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        ("rnn", "embedding = 'rnn': give 'mlp', 'cnn', 'gru'"),
        (nn.Linear(5, 2), r"Linear does not take observations of shape \(2, 12, 2\), two of \(12, 2\)"),
        (nn.Flatten(0), r"Flatten gave \(48,\) for two observations; expected \[2, f\]"),
    ],
)
def test_embeddings_that_do_not_fit(embedding, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TallPosterior.fit(PRIOR, series, embedding=embedding, **QUICK_SETTINGS)


def dosed(theta, dose):
    return theta * dose + 0.3 * torch.randn_like(theta)


def test_known_conditions_decide_the_posterior(tmp_path):
    """x = theta dose + noise: a large dose says more about theta, and a negative one turns the sign."""
    doses = np.array([[-2.0], [0.1], [2.0]])
    posterior = TallPosterior.fit(
        PRIOR, dosed, condition=doses, simulations=4000, epochs=60, batch_size=32, hidden=(64, 64)
    )
    x = torch.tensor([[2.0, -2.0]])
    wide, left, right = (posterior.sample((x * abs(c) / 2, [[c]]), 200) for c in (0.1, -2.0, 2.0))
    assert wide.std(0).min() > 2 * right.std(0).max()
    assert (right.mean(0) - torch.tensor([1.0, -1.0])).abs().max() < 0.35
    assert (left.mean(0) + torch.tensor([1.0, -1.0])).abs().max() < 0.35
    assert torch.equal(posterior.sample(torch.cat([x, torch.tensor([[2.0]])], 1), 200), right)
    posterior.save(tmp_path / "saved")
    again = TallPosterior.load(tmp_path / "saved")
    assert torch.equal(again.sample((x, [[2.0]]), 200), right)
    assert again.diagnose(dosed, 2, datasets=8, n_samples=10, settings={"cov_samples": 5}).ranks.shape == (
        8,
        2,
    )
    with pytest.raises(
        ValueError, match=r"x_obs has no condition: give a tuple \(x, condition\), with 1 known"
    ):
        posterior.sample(x)
    with pytest.raises(ValueError, match="the last axis must be 3"):
        posterior.sample(torch.zeros(2, 4))
    with pytest.raises(ValueError, match=r"the condition of x_obs has shape \(2, 1\); .* give \(1, 1\)"):
        posterior.sample((x, [[1.0], [2.0]]))
    with pytest.raises(ValueError, match=r"condition gave shape \(3, 1\) for 200 rows"):
        TallPosterior.fit(PRIOR, dosed, condition=lambda rows: doses, **QUICK_SETTINGS)


def test_conditions_go_past_the_embedding():
    def simulator(theta, condition):
        return series(theta) * condition[:, :, None]

    posterior = TallPosterior.fit(
        PRIOR, simulator, embedding=GRU(4, 8), condition=lambda rows: torch.rand(rows, 1), **QUICK_SETTINGS
    )
    assert posterior.engine.saved.network.architecture.parts[1] == 5
    x = series(torch.zeros(3, 2))
    few = {"cov_samples": 10}
    assert posterior.sample((x, torch.ones(3, 1)), 10, settings=few).shape == (10, 2)
    with pytest.raises(ValueError, match=r"no condition: give a tuple \(x, condition\)"):
        posterior.sample(x)


def test_datasets_may_differ_in_n():
    posterior = exact_posterior()
    x = datasets(1, 7)[0]
    draws = posterior.sample([x[:2], x[2:].numpy(), pd.DataFrame(x.numpy())], 20)
    assert isinstance(draws, list)
    for part, expected in zip(draws, (x[:2], x[2:], x), strict=True):
        assert torch.equal(part, posterior.sample(expected, 20))
    joint = posterior.sample([x[:3], x[3:6]], 20)
    assert torch.equal(joint, posterior.sample(torch.stack([x[:3], x[3:6]]), 20))
    with pytest.raises(ValueError, match=r"x_obs\[1\] has observations of 1 numbers"):
        posterior.sample([x[:3], x[3:5, :1]], 20)


def test_data_frames_are_observations_and_parameters():
    x = datasets(1, 4)[0].numpy()
    frame = pd.DataFrame({"a": x[:, 0], "b": pd.array(x[:, 1], dtype="Float64")})
    posterior = exact_posterior()
    assert torch.equal(posterior.sample(frame, 10), posterior.sample(x, 10))
    assert torch.equal(posterior.sample([frame, frame], 10)[0], posterior.sample(x, 10))
    with pytest.raises(ValueError, match="x_obs: column 'c' of the data frame is not numeric"):
        posterior.sample(frame.assign(c="high"), 10)
    theta = pd.DataFrame(np.random.default_rng(0).normal([1, -2], [2, 1], (200, 2)))
    assert quick_fit((theta, theta)).sample(frame, 10, settings={"cov_samples": 10}).shape == (10, 2)


def test_large_observations_have_a_training_range():
    posterior = TallPosterior.fit(PRIOR, lambda theta: series(theta, 200), embedding="mlp", **QUICK_SETTINGS)
    assert posterior.training_range.whiten.shape[0] <= 50
    with pytest.warns(UserWarning, match="far outside the training range"):
        posterior.sample(1e4 * torch.ones(1, 200, 2), 10, settings={"cov_samples": 10})


def test_layouts_are_equal_after_json():
    layout = Layout((3, 2), 1, "flag", (0, 0, 1, 1, -1, -1), torch.zeros(6), True)
    again = Layout.from_json(layout.to_json(), layout.fill)
    assert vars(again) == vars(layout)

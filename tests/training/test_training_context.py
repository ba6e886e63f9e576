"""Networks trained with and without context: what they are fed, and the prior they learn."""

import pytest
import torch
from oracles import generator

from tallsbi.algorithms import build
from tallsbi.api.engine import NetworkEngine
from tallsbi.priors.gaussian import Gaussian
from tallsbi.samplers.ddim import DDIM
from tallsbi.schedule import NETWORK
from tallsbi.scores.context import dropped, with_context
from tallsbi.scores.network_file import read_network, write_network
from tallsbi.training.loop import train
from tallsbi.training.loss import epoch_rows, validation_rows
from tallsbi.training.settings import TrainingSettings

SETTINGS = TrainingSettings(
    epochs=150, batch_size=64, hidden=(64, 64), learning_rate=2e-3, ema_decay=0.995, drop_context=0.2
)


def test_dropped_rows_are_zero_in_every_column_and_kept_rows_are_flagged():
    x = torch.randn(5, 3, generator=generator(1))
    mask = torch.tensor([True, False, False, True, False])
    rows = dropped(x, mask)
    assert (rows[mask] == 0).all()
    assert torch.equal(rows[~mask], with_context(x)[~mask])
    assert (rows[~mask][:, -1] == 1).all()


@pytest.mark.parametrize("make", [epoch_rows, validation_rows])
def test_share_of_rows_without_context(make):
    """2,000 rows at 20 %: the bound is six standard errors wide, less than one false alarm in 10^8."""
    theta, x = torch.randn(2000, 2, generator=generator(2)), torch.randn(2000, 3, generator=generator(3))
    extra = (1,) if make is validation_rows else ()
    rows = make(theta, x, NETWORK, 3, *extra, generator(4), 0.2)
    flag = rows.inputs[:, 2 + 3]
    assert set(flag.tolist()) == {0.0, 1.0}
    assert abs(float(1 - flag.mean()) - 0.2) < 6 * (0.2 * 0.8 / 2000) ** 0.5
    assert (rows.inputs[flag == 0][:, 2:6] == 0).all()


def test_without_dropping_the_inputs_have_no_flag():
    theta, x = torch.randn(10, 2, generator=generator(2)), torch.randn(10, 3, generator=generator(3))
    assert epoch_rows(theta, x, NETWORK, 3, generator(4)).inputs.shape[1] == 2 + 3 + 6


def test_a_drop_of_one_is_refused():
    with pytest.raises(ValueError, match="drop_context = 1"):
        TrainingSettings(drop_context=1.0)


@pytest.fixture(scope="module")
def posterior():
    """theta ~ N((1, -2), diag(1, 4)), x ~ N(theta, I)."""
    prior = Gaussian(torch.tensor([1.0, -2.0]), torch.diag(torch.tensor([1.0, 4.0])))
    theta = prior.sample(3000, generator(5))
    x = theta + torch.randn(3000, 2, generator=generator(6))
    return NetworkEngine(train(theta, x, SETTINGS, NETWORK, seed=1).saved("toy"), prior)


def learned(posterior):
    return posterior.with_learned_prior(DDIM(steps=50, eta=0.5), 2000, generator(7))


def test_learned_prior_has_the_covariance_and_score_of_the_prior(posterior):
    """In normalised space the prior is N(0, I). The tolerances leave room for the training's own error."""
    engine = learned(posterior)
    torch.testing.assert_close(
        engine.learned_covariance, torch.eye(2, dtype=torch.float64), rtol=0, atol=0.25
    )
    problem = engine.problem(torch.zeros(2, 3, 2))
    theta = torch.randn(2, 40, 2, generator=generator(8))
    for t in (0.3, 0.6):
        score, excess = problem.prior.score_and_excess(theta, t, NETWORK)
        assert score.shape == theta.shape
        assert excess.shape == (1, 1, 2, 2)
        # Diffused N(0, I) is N(0, (alpha + sigma^2) I), and alpha + sigma^2 = 1 up to the floor.
        assert (score + theta).square().mean().sqrt() < 0.3


def test_gauss_with_the_learned_prior_finds_the_tall_posterior(posterior):
    """n = 4 observations at (0, 0): precision diag(1, 1/4) + 4 I and the mean that goes with it.

    With the prior counted four times the mean would be off by 0.67 std in the first coordinate.
    """
    x = torch.zeros(1, 4, 2)
    run = learned(posterior).sample(build("GAUSS", {"steps": 100}), x, 2000, [generator(9)])
    precision = torch.tensor([1.0, 0.25]) + 4
    mean = torch.tensor([1.0, -0.5]) / precision
    std = precision.rsqrt()
    assert ((run.theta[0].mean(0) - mean) / std).abs().max() < 0.4
    assert ((run.theta[0].std(0) / std) - 1).abs().max() < 0.25


def test_network_keeps_its_prior_on_disk(posterior, tmp_path):
    write_network(posterior.saved, tmp_path / "n.safetensors")
    again = NetworkEngine(read_network(tmp_path / "n.safetensors"), posterior.prior)
    assert again.knows_prior


def test_a_network_without_a_prior_of_its_own_says_so(posterior):
    plain = train(
        torch.randn(100, 2, generator=generator(1)),
        torch.randn(100, 2, generator=generator(2)),
        TrainingSettings(epochs=1, hidden=(4,)),
        NETWORK,
        seed=1,
    )
    with pytest.raises(ValueError, match="drop_context > 0"):
        NetworkEngine(plain.saved("toy"), posterior.prior).with_learned_prior(
            DDIM(steps=5, eta=0.5), 10, generator(1)
        )

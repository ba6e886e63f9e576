"""`fit(budget=...)`: settings for the time there is."""

import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch
from api_models import quick_fit, simulator, torch_prior

from tallsbi import TallPosterior
from tallsbi.api import budget
from tallsbi.api.budget import Budget, Choice, free, seconds_of
from tallsbi.training.settings import TrainingSettings


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("5 min", 300),
        ("90s", 90),
        ("1.5 hours", 5400),
        (12, 12),
        (timedelta(minutes=2), 120),
        ("2 Minutes", 120),
    ],
)
def test_times(given, seconds):
    assert seconds_of(given) == seconds


@pytest.mark.parametrize("given", ["5 ms", "soon", "-1 s", 0, True, "min", None])
def test_what_is_no_time(given):
    with pytest.raises(ValueError, match=r"budget = .*: give a time, such as '5 min'"):
        seconds_of(given)


@pytest.fixture
def machine(monkeypatch):
    """100 batches an epoch, which take 1, 2 and 4 seconds for the three widths; 1e-3 is the best rate."""
    costs = dict(zip(budget.WIDTHS, (1.0, 2.0, 4.0), strict=True))
    monkeypatch.setattr(budget, "epoch_seconds", lambda run: costs.get(run.settings.hidden, 1.0))
    monkeypatch.setattr(budget, "_pilot", lambda run, seconds: abs(run.settings.learning_rate - 1e-3))
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    data = SimpleNamespace(theta=torch.zeros(10_000, 1))
    return lambda settings: SimpleNamespace(settings=settings, data=data)


SETTINGS = TrainingSettings(batch_size=100, learning_rate=0.1, epochs=7)


@pytest.mark.parametrize(
    ("seconds", "hidden", "epochs"), [(100, 64, 100), (200, 64, 200), (400, 128, 200), (4000, 256, 1000)]
)
def test_more_time_buys_width_and_epochs(machine, seconds, hidden, epochs):
    every = frozenset({"hidden", "learning_rate", "epochs"})
    chosen = Budget(seconds, 0.0, every).choose(machine, SETTINGS, 1.0)
    assert chosen.settings.hidden == (hidden,) * 3
    assert chosen.settings.epochs == epochs
    assert chosen.settings.learning_rate == 1e-3
    assert str(chosen).startswith("budget of 0:") or seconds >= 3600
    assert f"hidden={(hidden,) * 3}, learning_rate=0.001, epochs={epochs}" in str(chosen)


def test_what_was_given_stays(machine):
    chosen = Budget(400, 0.0, frozenset({"epochs"})).choose(machine, SETTINGS, 1.0)
    assert (chosen.settings.hidden, chosen.settings.learning_rate) == (SETTINGS.hidden, 0.1)
    given = {"hidden": [64], "learning_rate": 1e-3, "epochs": 5}
    assert free(given, {"hidden": (64,), "learning_rate": 1e-3, "epochs": 9}) == {"hidden", "learning_rate"}


def test_training_ends_when_time_is_up(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    choice = Choice(TrainingSettings(validate_every=2, epochs=50), 3.5, 4.0)
    assert list(choice.until_the_end(iter)(range(50))) == list(range(10))


def test_fit_says_what_it_chose(capsys):
    start = time.monotonic()
    posterior = TallPosterior.fit(torch_prior(), simulator, simulations=500, budget="1 s", hidden=(8,))
    assert time.monotonic() - start < 60
    text = capsys.readouterr().err
    assert "fit: budget of 0:00:01: hidden=(8,), learning_rate=" in text
    settings = posterior.engine.saved.facts["settings"]
    assert f"epochs={settings['epochs']}" in text
    assert 1 <= len(posterior.losses) <= settings["epochs"]
    quick_fit(budget=0.5, progress=False)
    assert "budget" not in capsys.readouterr().err
    with pytest.raises(ValueError, match="budget = 'a while'"):
        TallPosterior.fit(torch_prior(), lambda theta: pytest.fail("simulated"), budget="a while")

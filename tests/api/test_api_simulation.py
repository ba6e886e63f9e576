"""Simulators as they are: one vector at a time or rows, chunks, processes, interruptions."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch
from api_models import quick_fit, simulator

from tallsbi.api.manners import OneAtATime
from tallsbi.api.simulation import Calling, simulate

THETA = torch.linspace(-1, 1, 60).view(20, 3)
RNG = np.random.default_rng(0)


def one_series(theta):
    a, b, c = theta
    return np.array([a * t + b for t in range(5)]) + np.random.randn(5) * float(c)  # noqa: NPY002


def with_own_generator(theta):
    return theta.numpy() + RNG.standard_normal(theta.shape)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (one_series, (5,)),
        (lambda theta: float(theta[0]), (1,)),
        (lambda theta: theta + torch.randn(3), (3,)),  # works for rows, but with one noise for all
        (lambda theta: np.add.reduce(theta.astype(float).reshape(3)), (1,)),  # numpy only
    ],
)
def test_simulators_of_one_vector_are_recognised(function, shape):
    with pytest.warns(OneAtATime, match=r"one parameter vector at a time .*batched=False"):
        x = simulate(function, THETA, 1).x
    assert x.shape == (20, *shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        declared = simulate(function, THETA, 1, how=Calling(batched=False)).x
    assert torch.equal(x, declared)
    assert len(x.unique(dim=0)) == 20


@pytest.mark.parametrize(
    "function",
    [
        lambda theta: theta * 2,
        lambda theta: theta.numpy() + RNG.random(theta.shape),
        lambda theta: theta.tolist(),
    ],
)
def test_simulators_of_rows_are_recognised(function):
    calls = []

    def counted(theta):
        calls.append(theta.shape)
        return function(theta)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert simulate(counted, THETA, 1).x.shape == (20, 3)
    assert calls[-1] == (20, 3)
    assert all(len(shape) == 2 for shape in calls)


def test_a_simulator_of_rows_that_is_none():
    with pytest.raises(
        ValueError, match=r"shape \(3,\) for 20 parameters: expected \[20, d\].*batched=False"
    ):
        simulate(lambda theta: theta[0], THETA, 1, how=Calling(batched=True))


@pytest.mark.parametrize("function", [one_series, with_own_generator, partial(np.random.normal, scale=0.5)])
def test_processes_and_interruptions_change_nothing(function, tmp_path):
    batched = function is not one_series
    how = {"batched": batched, "chunk_size": 6}
    alone = simulate(function, THETA, 1, how=Calling(**how)).x
    assert torch.equal(alone, simulate(function, THETA, 1, how=Calling(**how, workers=2)).x)
    assert not torch.equal(alone[:6], alone[6:12])
    calls = []

    def interrupted(theta, limit):
        calls.append(theta)
        if len(calls) > limit:
            raise KeyboardInterrupt
        return function(theta)

    # One function for both runs: what is stored belongs to one simulator.
    how["folder"] = tmp_path
    with pytest.raises(KeyboardInterrupt):
        simulate(partial(interrupted, limit=4 if batched else 14), THETA, 1, how=Calling(**how))
    stored = {path.name for path in tmp_path.iterdir()}
    assert "0.safetensors" in stored
    assert "18.safetensors" not in stored
    calls.clear()
    again = simulate(partial(interrupted, limit=10**6), THETA, 1, how=Calling(**how)).x
    assert torch.equal(again, alone)
    rows = sum(1 if theta.ndim == 1 else len(theta) for theta in calls)
    assert rows < 20 + 9


def test_another_simulator_does_not_take_up_what_is_stored(tmp_path):
    simulate(lambda theta: theta + 1, THETA, 1, how=Calling(folder=tmp_path))
    x = simulate(lambda theta: theta + 2, THETA, 1, how=Calling(folder=tmp_path)).x
    assert torch.equal(x, THETA + 2)


def test_an_interrupted_fit_does_not_simulate_again(tmp_path, monkeypatch):
    rows = []

    def slow(theta):
        rows.append(len(theta))
        return simulator(theta)

    def broken(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tallsbi.api.fitting.finish", broken)
        with pytest.raises(KeyboardInterrupt):
            quick_fit(slow, checkpoint_dir=tmp_path)
    first, rows[:] = sum(rows), []
    posterior = quick_fit(slow, checkpoint_dir=tmp_path)
    assert first >= 400 > sum(rows)
    assert not (tmp_path / "simulations").exists()
    fresh = quick_fit(slow)
    x = torch.zeros(2, 2)
    assert torch.equal(posterior.sample(x, 10), fresh.sample(x, 10))


class Laboratory:
    """A simulator that is a method, for one vector in numpy, and remembers what it was given."""

    def __init__(self):
        self.given = []

    def run(self, theta):
        a, b, c = theta
        self.given.append(type(theta))
        return [float(a + b), float(c)]


def test_how_a_simulator_is_called_is_found_once():
    laboratory = Laboratory()
    with pytest.warns(OneAtATime):
        x = simulate(laboratory.run, THETA, 1).x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        laboratory.given.clear()
        again = simulate(laboratory.run, THETA, 1).x
    assert torch.equal(x, again)
    assert len(laboratory.given) == len(THETA)  # nothing is tried


def test_what_fit_was_told_holds_for_later_calls():
    def row(theta):
        a, b = theta
        return [float(a) + torch.randn(()).item(), float(b)]

    with warnings.catch_warnings():
        warnings.simplefilter("error", OneAtATime)
        posterior = quick_fit(row, batched=False)
        x = [row(torch.tensor([1.0, -2.0])) for _ in range(3)]
        posterior.predict(row, x, posterior.sample(x, 20, "GAUSS_PD", settings={"steps": 3}))


def test_simulators_written_in_numpy_get_arrays():
    """Arithmetic with single numbers of torch is several times slower."""
    laboratory = Laboratory()
    simulate(laboratory.run, THETA, 1, how=Calling(batched=False))
    assert set(laboratory.given[-len(THETA) :]) == {np.ndarray}
    of_torch = []
    simulate(lambda theta: of_torch.append(type(theta)) or theta[:2], THETA, 1, how=Calling(batched=False))
    assert set(of_torch) == {torch.Tensor}

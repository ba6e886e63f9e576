"""Simulators as they are: one vector at a time, failures, chunks, processes, interruptions."""

import os
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from api_models import quick_fit, simulator

from tallsbi.api import pairs, survival
from tallsbi.api.layout import Layout
from tallsbi.api.manners import OneAtATime
from tallsbi.api.pool import calibration_pairs
from tallsbi.api.simulation import Calling, SimulationError, simulate
from tallsbi.api.survival import SimulationFailures
from tallsbi.priors.gaussian import Gaussian

THETA = torch.linspace(-1, 1, 60).view(20, 3)
RNG = np.random.default_rng(0)


def one(theta):
    a, b, c = theta
    return np.array([a * t + b for t in range(5)]) + np.random.randn(5) * float(c)  # noqa: NPY002


def with_own_generator(theta):
    return theta.numpy() + RNG.standard_normal(theta.shape)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (one, (5,)),
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
        told = simulate(function, THETA, 1, how=Calling(batched=False)).x
    assert torch.equal(x, told)
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


@pytest.mark.parametrize("function", [one, with_own_generator, partial(np.random.normal, scale=0.5)])
def test_processes_and_interruptions_change_nothing(function, tmp_path):
    batched = function is not one
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

    for limit, finished in ((14 if not batched else 4, 0), (10**6, None)):
        how["folder"] = tmp_path
        # One code object for both: what is stored belongs to one simulator.
        run = partial(interrupted, limit=limit)
        if finished is not None:
            with pytest.raises(KeyboardInterrupt):
                simulate(run, THETA, 1, how=Calling(**how))
            stored = {path.name for path in tmp_path.iterdir()}
            assert "0.safetensors" in stored
            assert "18.safetensors" not in stored
            calls.clear()
        else:
            again = simulate(run, THETA, 1, how=Calling(**how)).x
    assert torch.equal(again, alone)
    rows = sum(1 if theta.ndim == 1 else len(theta) for theta in calls)
    assert rows < 20 + 9


def test_another_simulator_does_not_take_up_what_is_stored(tmp_path):
    simulate(lambda theta: theta + 1, THETA, 1, how=Calling(folder=tmp_path))
    x = simulate(lambda theta: theta + 2, THETA, 1, how=Calling(folder=tmp_path)).x
    assert torch.equal(x, THETA + 2)


def fails_above_half(theta):
    if theta[0] > 0.5:
        raise ZeroDivisionError("too large")
    return theta


def rows_above_half(theta):
    if bool((theta[:, 0] > 0.5).any()):
        raise ZeroDivisionError("too large")
    return theta


@pytest.mark.parametrize(("function", "batched"), [(fails_above_half, False), (rows_above_half, True)])
def test_exceptions_name_theta_and_keep_the_rest(function, batched):
    how = Calling(batched=batched, chunk_size=4)
    with pytest.raises(
        SimulationError, match=r"theta = \[0.*ZeroDivisionError: too large.*on_failure"
    ) as caught:
        simulate(function, THETA, 1, how=how)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    first = int((THETA[:, 0] > 0.5).nonzero()[0])
    kept = first // 4 * 4 if batched else first
    assert torch.equal(caught.value.simulations[0], THETA[:kept])
    assert torch.equal(caught.value.simulations[1], THETA[:kept])
    x = simulate(function, THETA, 1, how=Calling(batched=batched, stop=False))
    assert x.failed.tolist() == (THETA[:, 0] > 0.5).tolist()
    assert torch.equal(x.x[~x.failed], THETA[~x.failed])


def test_errors_of_processes_and_their_end():
    with pytest.raises(SimulationError, match="ZeroDivisionError: too large"):
        simulate(fails_above_half, THETA, 1, how=Calling(batched=False, chunk_size=5, workers=2))
    with pytest.raises(SimulationError, match="ended without a word"):
        simulate(
            lambda theta: os._exit(1) if theta[0] > 0.5 and os.getpid() != PID else theta,
            THETA,
            1,
            how=Calling(batched=False, chunk_size=5, workers=2),
        )


PID = os.getpid()


def test_a_simulator_that_always_fails():
    with pytest.raises(SimulationError, match=r"failed for all 20 parameters.*NameError"):
        simulate(lambda theta: undefined_name, THETA, 1, how=Calling(stop=False))


def test_what_is_not_finite_is_named_with_theta_and_the_rest():
    def some(theta):
        return torch.where(theta[:, :1] > 1.5, torch.nan, theta)

    with pytest.raises(
        SimulationError, match=r"not finite, the first is row \d+, theta = .*'drop'.*'flag'"
    ) as caught:
        quick_fit(some)
    theta, x = caught.value.simulations
    assert len(theta) == len(x) < 400
    with pytest.raises(ValueError, match="on_failure = 'skip': it must be one of 'raise', 'drop', 'flag'"):
        quick_fit(some, on_failure="skip")


def test_weights_give_the_prior_back():
    """Survivors weighted by 1 / P(success | theta) are spread like the prior again."""
    prior = Gaussian(torch.zeros(2), torch.eye(2))

    def fails(theta):
        lost = torch.rand(len(theta)) > torch.sigmoid(1.5 * theta[:, 0])
        return torch.where(lost[:, None], torch.nan, theta)

    with pytest.warns(SimulationFailures, match=r"\d+ of 1500 simulations failed.*p\(x \| theta, success\)"):
        kept = pairs.training_pairs(prior, fails, 1500, 0, on_failure="drop")
    assert kept.rows.isfinite().all()
    assert kept.theta[:, 0].mean() > 0.3
    weights = kept.weights / kept.weights.sum()
    assert abs(float((weights * kept.theta[:, 0]).sum())) < 0.15
    assert abs(float((weights * kept.theta[:, 1]).sum())) < 0.15


def test_failures_that_have_nothing_to_do_with_theta_are_not_weighted():
    draws = torch.Generator().manual_seed(0)
    latent, succeeded = torch.randn(2000, 2, generator=draws), torch.rand(2000, generator=draws) < 0.7
    success = survival.learned_success(latent, succeeded, draws)
    assert success.probability.std() < 0.05
    assert success.hopeless == 0


def test_flags_say_what_is_missing():
    x = torch.arange(12.0).view(3, 4)
    x[0, 1:3] = torch.nan
    layout = Layout.of(x, ~x.isfinite(), failures="flag")
    assert layout.flags == (-1, 0, 0, -1)
    rows = layout.rows(x)
    assert rows[:, -1].tolist() == [1, 0, 0]
    assert rows[0, 1] == x[1:, 1].mean()
    with pytest.raises(ValueError, match="in coordinate 0"):
        layout.rows(torch.tensor([[torch.nan, 1.0, 1.0, 1.0]]))


def test_failed_observations_are_observations_where_failures_are_flagged(tmp_path):
    def fails(theta):
        return torch.where(theta[:, :1] > 1.5, torch.nan, simulator(theta))

    with pytest.warns(SimulationFailures, match="'flag': a failure is an outcome of its own"):
        posterior = quick_fit(fails, on_failure="flag", epochs=40, hidden=(32, 32), simulations=1500)
    failed = posterior.sample(torch.full((1, 2), torch.nan), 300)
    fine = posterior.sample(torch.tensor([[0.0, -2.0]]), 300)
    assert failed[:, 0].mean() > 1.5 + 0.3 > fine[:, 0].mean()
    posterior.save(tmp_path / "saved")
    again = type(posterior).load(tmp_path / "saved").sample(torch.full((1, 2), torch.nan), 300)
    assert torch.equal(again, failed)


def test_calibration_tries_again_where_failures_were_left_out():
    def fails(theta):
        lost = (torch.rand(len(theta)) < 0.5) | (theta[:, 0] > 2)
        return torch.where(lost[:, None], torch.nan, theta)

    prior = Gaussian(torch.zeros(2), torch.eye(2))
    theta, x = calibration_pairs(prior, Layout((2,), failures="drop"), fails, 3, 50, 0)
    assert x.isfinite().all()
    assert 40 < len(theta) == len(x) < 50
    with pytest.raises(SimulationError, match="not finite"):
        calibration_pairs(prior, Layout((2,)), fails, 3, 50, 0)


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


def test_a_failure_that_fails_again_is_tried_on():
    """Tried again alone, it may fail: that is a failure, not a simulator that never works."""
    failures = iter([True] * 4)

    def seldom(theta):
        if theta[0] > 0.99 and next(failures, False):
            raise ArithmeticError("not this time")
        return theta[:1]

    layout = Layout((1,), failures="drop")
    theta = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    x, failed = pairs.simulated_rows(seldom, theta, 3, None, layout, Calling(batched=False))
    assert x[:, 0].tolist() == [0.0, 1.0]
    assert not failed.any()

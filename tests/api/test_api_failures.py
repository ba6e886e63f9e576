"""Simulators that fail: what an error says, what is dropped or flagged, and how the rest stands for the prior."""

import os

import pytest
import torch
from api_models import quick_fit, simulator

from tallsbi.api import pairs, survival
from tallsbi.api.layout import Layout
from tallsbi.api.pool import calibration_pairs
from tallsbi.api.simulation import Calling, SimulationError, simulate
from tallsbi.api.survival import SimulationFailures
from tallsbi.priors.gaussian import Gaussian

PID = os.getpid()
THETA = torch.linspace(-1, 1, 60).view(20, 3)


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
    with pytest.raises(SimulationError, match="ended without an error message"):
        simulate(
            lambda theta: os._exit(1) if theta[0] > 0.5 and os.getpid() != PID else theta,
            THETA,
            1,
            how=Calling(batched=False, chunk_size=5, workers=2),
        )


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

"""Noise schedules: monotone, summing to one, exact where alpha is close to one, and the time grid."""

import math
from itertools import pairwise

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import few_examples

from tallsbi.schedule import NETWORK, TOY, Schedule, time_grid

times = st.floats(0, 1)
schedules = st.one_of(
    st.sampled_from([NETWORK, TOY]),
    st.builds(Schedule, quadratic=st.floats(0.1, 20), linear=st.floats(0, 2)),
)


def exact_upsilon(schedule, t):
    with mpmath.workdps(50):
        t = mpmath.mpf(t)
        return 1 - mpmath.exp(-(mpmath.mpf(schedule.quadratic) * t * t + mpmath.mpf(schedule.linear) * t))


@few_examples
@given(schedules, times, times)
def test_alpha_decreases(schedule, s, t):
    s, t = min(s, t), max(s, t)
    assert schedule.alpha(t) <= schedule.alpha(s) <= 1


@few_examples
@given(schedules, times)
def test_alpha_and_upsilon_sum_to_one(schedule, t):
    assert schedule.alpha(t) + schedule.upsilon(t) == pytest.approx(1, abs=4e-16)
    assert schedule.sqrt_alpha(t) ** 2 == pytest.approx(schedule.alpha(t), rel=1e-14)
    assert schedule.sigma(t) ** 2 == pytest.approx(schedule.upsilon(t) + schedule.floor, rel=1e-14)


@few_examples
@given(schedules, st.floats(-12, 0).map(lambda power: 10**power))
def test_upsilon_keeps_its_digits_near_zero(schedule, t):
    exact = exact_upsilon(schedule, t)
    assert abs(schedule.upsilon(t) - exact) <= 1e-14 * exact


@few_examples
@given(schedules, st.lists(times, min_size=3, max_size=3).map(sorted))
def test_noise_of_two_steps_composes(schedule, points):
    """Noising from r to s and on to t is noising from r to t."""
    r, s, t = points
    kept = math.exp(schedule.log_ratio(t, s))
    composed = kept * schedule.one_step_noise(s, r) + schedule.one_step_noise(t, s)
    assert composed == pytest.approx(schedule.one_step_noise(t, r), rel=1e-10, abs=1e-15)
    assert schedule.one_step_noise(t, 0.0) == pytest.approx(schedule.upsilon(t), rel=1e-13)


@few_examples
@given(schedules, times)
def test_tensors_and_floats_agree(schedule, t):
    tensor = torch.tensor([t], dtype=torch.float64)
    for name in ("log_alpha", "alpha", "sqrt_alpha", "upsilon", "sigma2", "sigma"):
        method = getattr(schedule, name)
        assert float(method(tensor)) == pytest.approx(method(t), rel=1e-14, abs=1e-300)


def test_values_at_one():
    assert NETWORK.alpha(1.0) == pytest.approx(math.exp(-16))
    assert TOY.alpha(1.0) == pytest.approx(math.exp(-10.025))
    assert NETWORK.floor == TOY.floor == pytest.approx(1.1253517e-7)


@pytest.mark.parametrize("bad", [{"quadratic": -1.0}, {"quadratic": 0.0}, {"quadratic": 1.0, "floor": 1.0}])
def test_impossible_schedules_are_refused(bad):
    with pytest.raises(ValueError, match="Schedule"):
        Schedule(**bad)


def test_grid_walks_from_one_to_zero():
    grid = time_grid(400)
    assert (grid[0], grid[-2], grid[-1], len(grid)) == (1.0, 1 / 400, 0.0, 401)
    assert all(a - b == pytest.approx(1 / 400) for a, b in pairwise(grid))
    with pytest.raises(ValueError, match="at least one"):
        time_grid(0)

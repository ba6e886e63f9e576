"""Moments of the truncated normal against the closed form at 80 digits."""

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import few_examples

from tallsbi.priors.truncated import truncated_normal_moments

LOWER = [-1e4, -300.0, -40.0, -9.0, -3.0, -1.0, -1e-3, 0.0, 1e-3, 0.5, 1.0, 3.0, 8.0, 40.0, 300.0, 1e4]
WIDTH = [1e-6, 1e-4, 1e-2, 0.5, 1.0, 3.0, 8.7, 17.4, 20.0, 100.0, 1e4, 1e5]


def exact_moments(a, b):
    """log mass, mean and variance; the textbook formulas lose at most 40 of the 80 digits here."""
    with mpmath.workdps(80):
        a, b, root = mpmath.mpf(a), mpmath.mpf(b), mpmath.sqrt(2)
        if a > 0:
            mass = (mpmath.erfc(a / root) - mpmath.erfc(b / root)) / 2
        elif b < 0:
            mass = (mpmath.erfc(-b / root) - mpmath.erfc(-a / root)) / 2
        else:
            mass = (mpmath.erf(b / root) - mpmath.erf(a / root)) / 2
        at_a, at_b = mpmath.npdf(a), mpmath.npdf(b)
        mean = (at_a - at_b) / mass
        return mpmath.log(mass), mean, 1 + (a * at_a - b * at_b) / mass - mean**2


def computed(a, b):
    return [float(v) for v in truncated_normal_moments(*torch.tensor([[a], [b]], dtype=torch.float64))]


def check(a, b):
    log_mass, mean, variance = computed(a, b)
    exact_log, exact_mean, exact_variance = exact_moments(a, b)
    assert abs(log_mass - exact_log) <= 1e-13 * max(1, abs(exact_log))
    # A mean between two float64 bounds cannot be better than their own resolution.
    resolution = 1e-13 * mpmath.sqrt(exact_variance) + 2e-16 * abs(exact_mean)
    assert abs(mean - exact_mean) <= 2 * resolution
    assert abs(variance - exact_variance) <= 1e-13 * exact_variance


@pytest.mark.parametrize("a", LOWER)
def test_narrow_wide_and_tail_intervals(a):
    """Relative error 1e-13 of mass and variance for widths from 1e-6 to 1e5, up to 1e4 deep in a tail."""
    for width in WIDTH:
        check(a, a + width)


@few_examples
@given(st.floats(-50, 50), st.floats(-5, 3).map(lambda power: 10**power))
def test_any_interval(a, width):
    check(a, a + width)


@few_examples
@given(st.floats(-50, 50), st.floats(-3, 3).map(lambda power: 10**power))
def test_reflection(a, width):
    log_mass, mean, variance = computed(a, a + width)
    mirrored = computed(-(a + width), -a)
    assert mirrored == pytest.approx([log_mass, -mean, variance], rel=1e-13, abs=1e-14)


def test_the_far_tail_is_exponential():
    """At 1e9 and beyond, where a run-away sampler may end up, the variance is 1 / a^2 and not 0."""
    for a in (1e9, 1e12):
        _, mean, variance = computed(a, 2 * a)
        assert mean == pytest.approx(a)
        assert variance == pytest.approx(1 / a**2, rel=1e-9)


def test_variance_never_exceeds_the_untruncated_one():
    a = torch.linspace(-30, 30, 601, dtype=torch.float64)
    for width in (1e-3, 1.0, 10.0, 60.0):
        _, mean, variance = truncated_normal_moments(a, a + width)
        assert bool((variance <= 1 + 1e-14).all())
        assert bool((variance > 0).all())
        assert bool(((mean >= a) & (mean <= a + width)).all())


def test_not_a_number_stays_one():
    values = truncated_normal_moments(torch.tensor([float("nan")]), torch.tensor([1.0]))
    assert all(bool(value.isnan().all()) for value in values)

"""Offsets and coverage: those promised for exact posteriors of any shape, direction and size for wrong ones."""

import json

import numpy as np
import pytest
from scipy import stats

from tallsbi.metrics.calibration import Calibration, calibration, covered, detectable, summary, width_error

LAWS = {
    "Gaussian": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "skewed": lambda rng, size: rng.gamma(2.0, size=size),
    "two modes": lambda rng, size: rng.standard_normal(size) + np.where(rng.uniform(size=size) < 0.1, 20, 0),
}


def measured(law="Gaussian", B=100, S=20, m=2, seed=0, factor=1.0, shift=0.0):
    """theta* and draws of one law; the draws made wider by a factor and shifted."""
    rng = np.random.default_rng(seed)
    values = LAWS[law](rng, (B, S + 1, m))
    return calibration(1, values[:, 0], factor * values[:, 1:] + shift, rng)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("S", [20, 100])
def test_exact_posteriors_of_any_shape_are_calibrated(law, S):
    at = measured(law, B=3000, S=S, m=1)
    # Twenty draws may miss a mode altogether.
    assert at.rms_z.value[0] == pytest.approx(1, abs=0.05 if S > 20 else 0.12)
    assert abs(at.mean_z.value[0]) < 0.07
    assert at.coverage_50.value[0] == pytest.approx(0.5, abs=0.03)
    assert at.coverage_90.value[0] == pytest.approx(0.9, abs=0.02)
    assert at.departures == []


def test_a_calibrated_posterior_is_seldom_called_wrong():
    wrong = sum(bool(measured(seed=seed, m=3).departures) for seed in range(150))
    assert wrong <= 3, "1 in 500 is meant"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"factor": 0.6}, "too narrow in sigma"),
        ({"factor": 2.0}, "too wide in sigma"),
        ({"shift": 1.0}, "sigma too high on average"),
        ({"shift": -1.0}, "sigma too low on average"),
    ],
)
def test_departures_have_their_direction_and_size(given, words):
    at = measured(B=400, S=40, **given)
    texts = [str(departure) for departure in at.departures]
    assert any(words in text for text in texts), texts
    rms = np.sqrt(1 + given.get("shift", 0.0) ** 2) / given.get("factor", 1.0)
    assert np.allclose(at.rms_z.value, rms, rtol=0.12)
    assert np.allclose(at.mean_z.value, -given.get("shift", 0.0), atol=0.2)
    assert (at.rms_z.low < at.rms_z.value).all()
    assert (at.rms_z.value < at.rms_z.high).all()


def test_errors_of_widths_are_said_in_per_cent():
    assert width_error(4 / 3) == "25 % too narrow"
    assert width_error(0.8) == "25 % too wide"
    assert covered(0.9, 1.0) == pytest.approx(0.9)
    assert covered(0.9, 1.25) == pytest.approx(0.812, abs=1e-3)


def test_intervals_of_shares_are_exact():
    at = measured(B=50, m=3)
    for level, coverage in ((0.5, at.coverage_50), (0.9, at.coverage_90)):
        hits = np.round(coverage.value * 50)
        assert np.allclose(coverage.low, stats.beta.ppf(0.025, hits, 51 - hits), atol=1e-6), level
        assert np.allclose(coverage.high, stats.beta.ppf(0.975, hits + 1, 50 - hits), atol=1e-6), level


def test_intervals_hold_the_truth():
    inside = [
        (at.rms_z.low[0] <= 1 <= at.rms_z.high[0]) for at in (measured(m=1, seed=s) for s in range(100))
    ]
    assert np.mean(inside) > 0.85


def test_more_datasets_find_less():
    few, many = detectable(64, 3), detectable(400, 3)
    assert few[0] > many[0] > 1
    assert few[1] > many[1] > 0
    detected = sum(
        any(d.measure == "rms_z" for d in measured(seed=s, factor=1 / few[0], B=64, m=3).departures)
        for s in range(20)
    )
    assert detected >= 12, "four in five of them are meant"


def test_draws_that_are_lost_count_as_failures():
    rng = np.random.default_rng(0)
    theta, drawn = rng.standard_normal((60, 2)), rng.standard_normal((60, 20, 2))
    drawn[:, 3, 0] = np.inf
    some = calibration(2, theta, drawn, rng)
    assert some.lost == 0
    assert some.departures == []
    drawn[:30, :15] = np.nan
    half = calibration(2, theta, drawn, rng)
    assert half.lost == 30
    assert (half.coverage_90.value < 0.6).all()
    assert half.departures
    drawn[:] = np.nan
    assert calibration(2, theta, drawn, rng).departures


@pytest.mark.parametrize(("inside", "near"), [(50, False), (72, True), (95, False)])
def test_a_failure_just_beyond_a_bar_asks_for_more_datasets(inside, near):
    """Of coverage too: with 100 datasets 72 % of 50 % intervals may be 60 %."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((100, 1))
    position = np.where(np.arange(100) < inside, 0.5, np.where(np.arange(100) < 90, 0.1, 0.01))[:, None]
    at = summary(30, z / np.sqrt((z**2).mean()), position, rng)
    assert [departure.measure for departure in at.departures] == ["coverage_50"] * (inside > 50)
    assert at.near_bar == near


def test_draws_without_spread():
    theta = np.zeros((50, 2))
    theta[:, 1] = 1e-9
    at = calibration(1, theta, np.zeros((50, 20, 2)), np.random.default_rng(0))
    assert at.coverage_50.value[0] == pytest.approx(0.5, abs=0.25), "ties are spread evenly"
    assert any(d.coordinate == 1 and "too narrow" in str(d) for d in at.departures)


def test_coordinates_borrow_strength_only_where_they_agree():
    at = measured(B=100, m=8)
    assert np.ptp(at.pooled_rms_z) < np.ptp(at.rms_z.value)
    rng = np.random.default_rng(3)
    values = rng.standard_normal((100, 21, 8))
    values[:, 1:, 5] *= 0.4
    narrow = calibration(1, values[:, 0], values[:, 1:], rng)
    assert {departure.coordinate for departure in narrow.departures} == {5}
    assert narrow.pooled_rms_z[5] == pytest.approx(narrow.rms_z.value[5], rel=0.1)


def test_it_goes_through_json():
    at = measured()
    back = Calibration.from_json(json.loads(json.dumps(at.to_json())))
    assert back.sizes() == at.sizes()
    assert np.array_equal(back.coverage_50.high, at.coverage_50.high)


def test_too_few_draws():
    with pytest.raises(ValueError, match="n_samples = 5: a standard deviation needs 9 draws or more"):
        measured(S=5)

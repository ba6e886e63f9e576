"""What the simulations look like, and what they must not depend on: threads, batches, neighbours."""

import time

import numpy as np
import pytest

from tallsbi.study.tasks.jrnmm.kernel import LANES
from tallsbi.study.tasks.jrnmm.model import ALPHA_RHYTHM
from tallsbi.study.tasks.jrnmm.simulator import Simulation, simulate, simulate_summaries
from tallsbi.study.tasks.jrnmm.summary import log_spectra

SHORT = Simulation(burn_in=0.25, duration=1.0)
FREQUENCIES = 128 / 65 * np.arange(33)


def over_the_prior(count, seed=0):
    return np.random.default_rng(seed).uniform([10, 50, 0, -20], [250, 500, 5000, 20], (count, 4))


def test_the_standard_parameters_give_an_alpha_rhythm():
    """A peak between 8 and 13 Hz, ten times as strong as slow activity; in every signal, to a bin of 2 Hz."""
    spectra = simulate_summaries(np.tile(ALPHA_RHYTHM, (64, 1)), 0)
    peaks = FREQUENCIES[spectra[:, 1:].argmax(1) + 1]
    assert ((peaks > 7.8) & (peaks < 13)).all()
    mean = spectra.mean(0)
    assert 8 < FREQUENCIES[mean.argmax()] < 13
    assert mean.max() > mean[:3].max() + 1


@pytest.mark.parametrize("theta", [(10, 220, 2000), (30, 220, 2000), (135, 50, 2000)])
def test_with_little_connection_or_input_there_is_no_rhythm(theta):
    """Filtered noise: flat at low frequencies, falling beyond the filters' 100 / 2 pi = 16 Hz, no peak.

    The mean log spectrum of 256 signals has a standard error of 0.01; a false alarm takes six of them.
    """
    mean = simulate_summaries(np.tile(np.asarray(theta, float), (256, 1)), 1).mean(0)
    assert np.ptp(mean[:4]) < 0.25
    assert (np.diff(mean[1:]) < 0.06).all()
    assert mean[0] - mean[-1] > 1.5


@pytest.mark.parametrize("gain", [-20.0, -5.0, 3.0, 20.0])
def test_the_gain_shifts_the_log_spectrum_by_a_fifth_of_it(gain):
    theta = over_the_prior(10)
    theta[:, 3] = 0
    plain = simulate_summaries(theta, 2)
    np.testing.assert_array_equal(simulate_summaries(theta[:, :3].copy(), 2), plain)
    theta[:, 3] = gain
    np.testing.assert_allclose(simulate_summaries(theta, 2) - plain, 2 * gain / 10, rtol=0, atol=1e-12)


def test_signals_are_centred():
    signals = simulate(over_the_prior(20), 0)
    assert (np.abs(signals.mean(1)) < 1e-12 * np.abs(signals).max(1)).all()


def test_sigma_zero_is_safe_and_the_limit_of_small_sigma():
    theta = over_the_prior(8)
    theta[:, 2] = 0
    still = simulate(theta, 3)
    assert np.isfinite(still).all()
    assert np.isfinite(simulate_summaries(theta, 3)).all()
    assert (still.std(1) > 0).all()
    theta[:, 2] = 1e-9
    np.testing.assert_allclose(simulate(theta, 3), still, rtol=0, atol=1e-6 * np.abs(still).max())


@pytest.mark.parametrize("count", [1, LANES - 1, LANES, LANES + 1, 5 * LANES + 7])
def test_threads_do_not_change_a_byte(count):
    theta = over_the_prior(count)
    for function in (simulate, simulate_summaries):
        one = function(theta, 4, settings=SHORT)
        for threads in (2, 3):
            assert function(theta, 4, threads=threads, settings=SHORT).tobytes() == one.tobytes()


@pytest.mark.parametrize("cut", [1, 10, LANES, LANES + 3, 150])
def test_batches_do_not_change_a_byte(cut):
    theta = over_the_prior(200)
    for function in (simulate, simulate_summaries):
        whole = function(theta, 5, first=1000, settings=SHORT)
        parts = [function(theta[i : i + cut], 5, first=1000 + i, settings=SHORT) for i in range(0, 200, cut)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_signals_and_summaries_are_of_the_same_simulations():
    theta = over_the_prior(70)
    spectra = log_spectra(simulate(theta, 6, settings=SHORT))
    np.testing.assert_array_equal(simulate_summaries(theta, 6, settings=SHORT), spectra)


def test_the_same_seed_gives_the_same_and_another_seed_or_index_gives_other_signals():
    theta = np.tile(ALPHA_RHYTHM, (3, 1))
    once = simulate(theta, 7, settings=SHORT)
    assert simulate(theta, 7, settings=SHORT).tobytes() == once.tobytes()
    others = [*once[1:], *simulate(theta, 8, settings=SHORT), *simulate(theta, 7, first=3, settings=SHORT)]
    assert all(np.abs(np.corrcoef(once[0], other)[0, 1]) < 0.9 for other in others)


def test_neighbouring_simulations_are_independent():
    """1,770 correlations between signals of filtered noise, as large as chance makes them.

    Taken every 1/8 s, the 64 values of a signal are as good as independent. False alarm 7e-5.
    """
    theta = np.tile([10.0, 220.0, 2000.0], (60, 1))
    values = simulate(theta, 9)[:, ::16]
    n = values.shape[1]
    correlation = np.corrcoef(values)[np.triu_indices(60, 1)] * np.sqrt(n)
    assert np.abs(correlation).max() < 5.5
    assert abs(correlation.std() - 1) < 0.1


def test_no_simulations_are_no_error():
    assert simulate(np.empty((0, 3)), 0).shape == (0, 1024)
    assert simulate_summaries(np.empty((0, 4)), 0, threads=2).shape == (0, 33)


def test_theta_is_left_alone_and_any_layout_and_precision_will_do():
    theta = over_the_prior(9).astype(np.float32)
    copy = theta.copy()
    expected = simulate(theta.astype(np.float64), 0, settings=SHORT)
    np.testing.assert_array_equal(simulate(theta, 0, settings=SHORT), expected)
    np.testing.assert_array_equal(simulate(np.asfortranarray(theta), 0, settings=SHORT), expected)
    np.testing.assert_array_equal(theta, copy)


def test_extreme_parameters_stay_finite():
    theta = np.array([[1e6, 220.0, 2000.0], [0.0, 0.0, 0.0], [-100.0, -500.0, 1.0], [250.0, 1e6, 1e6]])
    assert np.isfinite(simulate_summaries(theta, 0)).all()


@pytest.mark.parametrize("shape", [(2, 2), (2, 5)])
def test_wrong_columns_are_named(shape):
    with pytest.raises(ValueError, match=r"columns \(C, mu, sigma\)"):
        simulate(np.zeros(shape), 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_impossible_parameters_are_named(bad):
    theta = over_the_prior(5)
    theta[3, 2] = bad
    with pytest.raises(ValueError, match=r"1 of 5 rows .* row 3: .*sigma not negative"):
        simulate_summaries(theta, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**63}, "seed="),
        ({"seed": 0, "first": -5}, "first=-5"),
        ({"seed": 0, "threads": 0}, "threads=0"),
    ],
)
def test_impossible_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        simulate(over_the_prior(1), **arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0.0}, "step=0.0"),
        ({"step": np.nan}, "step=nan"),
        ({"keep_every": 0}, "keep_every=0"),
        ({"burn_in": 0.0005}, "burn_in=0.0005"),
        ({"burn_in": -1.0}, "burn_in=-1.0"),
        ({"duration": 0.0}, "duration=0.0"),
        ({"duration": 1.001}, "duration=1.001"),
    ],
)
def test_impossible_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Simulation(**settings)


def test_a_recording_too_short_for_a_spectrum_is_refused():
    with pytest.raises(ValueError, match="64 samples are fewer than the 65"):
        simulate_summaries(over_the_prior(1), 0, settings=Simulation(duration=0.5))


def test_many_simulations_take_little_time():
    """500 per second and core are the requirement, in processor time, so that other work does not count."""
    theta = over_the_prior(4 * LANES)
    simulate_summaries(theta[:1], 0)  # compiles
    begin = time.process_time()
    simulate_summaries(theta, 0)
    assert len(theta) / (time.process_time() - begin) > 500

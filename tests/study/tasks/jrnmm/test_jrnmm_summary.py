"""The log spectrum against a fast Fourier transform per window, and signals whose spectrum is known."""

import numpy as np
import pytest
from jrnmm_oracles import log_spectrum

from tallsbi.study.tasks.jrnmm.summary import BINS, FLOOR, HOP, WINDOW, log_spectra

RATE = 128.0


def signals(kind, count=5, samples=1024):
    rng = np.random.default_rng(0)
    if kind == "white":
        return rng.standard_normal((count, samples))
    if kind == "large offset":
        return 100 + rng.standard_normal((count, samples))
    return np.cumsum(rng.standard_normal((count, samples)), 1)


@pytest.mark.parametrize("kind", ["white", "large offset", "walk"])
@pytest.mark.parametrize("samples", [65, 96, 97, 1023, 1024])
def test_equal_to_a_transform_of_every_window(kind, samples):
    x = signals(kind, samples=samples)
    expected = np.stack([log_spectrum(row) for row in x])
    np.testing.assert_allclose(log_spectra(x), expected, rtol=0, atol=1e-9)


def test_thirty_windows_and_33_bins_below_the_nyquist_frequency():
    assert (1024 - WINDOW) // HOP + 1 == 30
    assert BINS == 33
    # Samples after the last window do not count, the last sample of the last window does.
    x = signals("white", 1)
    end = 29 * HOP + WINDOW
    after, within = x.copy(), x.copy()
    after[0, end:] += 1.0
    within[0, end - 1] += 1.0
    np.testing.assert_array_equal(log_spectra(after), log_spectra(x))
    assert (log_spectra(within) != log_spectra(x)).all()


@pytest.mark.parametrize("bin_", [0, 1, 5, 16, 32])
def test_a_tone_is_in_its_bin(bin_):
    """amplitude^2 (65 / 2)^2 in the bin of the tone, nothing in the others."""
    time = np.arange(1024) / RATE
    tone = 3.0 * np.cos(2 * np.pi * bin_ * RATE / WINDOW * time + (0.4 if bin_ else 0.0))
    power = 10 ** log_spectra(tone[None])[0]
    expected = np.zeros(BINS)
    expected[bin_] = (3.0 * WINDOW / (1 if bin_ == 0 else 2)) ** 2
    np.testing.assert_allclose(power, expected, rtol=1e-9, atol=1e-15)


def test_power_adds_up_to_the_energy_of_the_windows():
    """Parseval: P_0 + 2 (P_1 + ... + P_32) = 65 times the mean energy of a window."""
    x = signals("walk")
    power = 10 ** log_spectra(x)
    energy = np.mean([(x[:, s : s + WINDOW] ** 2).sum(1) for s in range(0, 929, HOP)], 0)
    np.testing.assert_allclose(power[:, 0] + 2 * power[:, 1:].sum(1), WINDOW * energy, rtol=1e-12)


def test_white_noise_is_flat():
    """E P_f = 65 in every bin; mean over 2000 signals, six standard deviations: false alarm 7e-8."""
    power = 10 ** log_spectra(np.random.default_rng(1).standard_normal((2000, 1024)))
    assert (np.abs(power.mean(0) - WINDOW) < 6 * power.std(0) / np.sqrt(2000)).all()


def test_a_silent_signal_has_the_floor():
    x = np.zeros((2, 1024))
    x[1] = signals("white", 1)
    spectra = log_spectra(x)
    np.testing.assert_array_equal(spectra[0], np.full(BINS, np.log10(FLOOR)))
    assert (spectra[1] > 0).all()


def test_nan_stays_nan():
    x = signals("white", 2)
    x[0, 500] = np.nan
    spectra = log_spectra(x)
    assert np.isnan(spectra[0]).all()
    assert np.isfinite(spectra[1]).all()


def test_neighbours_and_memory_layout_do_not_matter():
    x = signals("walk", 70)
    spectra = log_spectra(x)
    np.testing.assert_array_equal(log_spectra(x[17:18])[0], spectra[17])
    np.testing.assert_array_equal(log_spectra(np.asfortranarray(x)[::2]), spectra[::2])


def test_too_short_signals_are_refused():
    with pytest.raises(ValueError, match="64 samples are shorter than a window of 65"):
        log_spectra(np.zeros((1, 64)))

"""MMD² against sbibm, against the definition written out, and against its closed form for Gaussians."""

import numpy as np
import pytest
from scipy.stats import chi2

from tallsbi.metrics import mmd
from tallsbi.metrics.mmd import mmd2


def normal(size, m, seed):
    return np.random.default_rng(seed).standard_normal((size, m))


def by_definition(samples, reference):
    def kernel(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * bandwidth**2))

    R, S = len(reference), len(samples)
    distances = [np.linalg.norm(reference[i] - reference[j]) for i in range(R) for j in range(i)]
    bandwidth = np.sort(distances)[(len(distances) - 1) // 2]
    within_samples = (kernel(samples, samples).sum() - S) / (S * (S - 1))
    within_reference = (kernel(reference, reference).sum() - R) / (R * (R - 1))
    return within_samples + within_reference - 2 * kernel(samples, reference).mean()


def gaussian_mmd2(m, mean, variance, bandwidth2):
    """MMD² of N(mean, variance I) and N(0, I): E k = (s² / (s² + w))^(m/2) exp(-|d|² / (2 (s² + w))).

    d and w are the mean and the variance of a coordinate of the difference of the two points.
    """

    def expected(shift2, w):
        return (bandwidth2 / (bandwidth2 + w)) ** (m / 2) * np.exp(-shift2 / (2 * (bandwidth2 + w)))

    return expected(0, 2 * variance) + expected(0, 2) - 2 * expected(m * mean**2, 1 + variance)


# Reference sizes with an even and an odd number of pairs: the lower median is not the mean of the middle two.
@pytest.mark.parametrize(("S", "R"), [(7, 5), (12, 6), (2, 3), (20, 9)])
def test_the_definition(S, R):
    samples, reference = normal(S, 3, 1) + 0.5, 2 * normal(R, 3, 2)
    assert mmd2(samples, reference) == pytest.approx(by_definition(samples, reference), abs=1e-12)


@pytest.mark.parametrize(
    ("S", "R", "m", "shift"), [(200, 200, 2, 0.0), (150, 201, 5, 0.7), (80, 120, 10, 4.0)]
)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
def test_sbibm(S, R, m, shift, dtype, tolerance):
    torch = pytest.importorskip("torch")
    reference_mmd = pytest.importorskip("sbibm.metrics.mmd").mmd
    samples, reference = (normal(S, m, 1) + shift).astype(dtype), (1.5 * normal(R, m, 2)).astype(dtype)
    expected = float(reference_mmd(torch.from_numpy(reference), torch.from_numpy(samples)))
    assert mmd2(samples, reference) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(
    ("m", "mean", "variance"), [(2, 0.0, 1.0), (2, 0.5, 1.0), (5, 0.0, 2.0), (10, 0.3, 0.7)]
)
def test_gaussians_in_closed_form(m, mean, variance):
    """Mean of 30 estimates within five standard errors: false alarm below 1e-4 (t with 29 degrees).

    The bandwidth is random too; |X - X'|² is 2 chi²(m), and the median of 45 000 of them is close to its law's.
    """
    estimates = [
        mmd2(mean + np.sqrt(variance) * normal(300, m, [1, i]), normal(300, m, [2, i])) for i in range(30)
    ]
    expected = gaussian_mmd2(m, mean, variance, 2 * chi2(m).median())
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert np.mean(estimates) == pytest.approx(expected, abs=5 * error)
    if mean == 0 and variance == 1:
        assert min(estimates) < 0 < max(estimates)
    else:
        assert expected > 10 * error


def test_the_bandwidth_is_the_reference_s():
    narrow, wide = 0.1 * normal(100, 2, 1), 3 * normal(100, 2, 2)
    assert mmd2(narrow, wide) != pytest.approx(mmd2(wide, narrow), rel=0.1)


def test_blocks_do_not_change_the_value(monkeypatch):
    samples, reference = normal(50, 3, 1), normal(41, 3, 2)
    whole = mmd2(samples, reference)
    monkeypatch.setattr(mmd, "_KERNEL_ENTRIES", 64)
    assert mmd2(samples, reference) == pytest.approx(whole, abs=1e-13)


def test_far_from_the_origin():
    samples, reference = normal(50, 3, 1), normal(50, 3, 2)
    assert mmd2(samples + 1e6, reference + 1e6) == pytest.approx(mmd2(samples, reference), abs=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_a_number_in_gives_not_a_number_out(bad):
    samples, reference = normal(20, 2, 1), normal(20, 2, 2)
    samples[3, 1] = bad
    assert np.isnan(mmd2(samples, reference))
    assert np.isnan(mmd2(reference, samples))


def test_a_constant_reference_has_no_bandwidth():
    assert np.isnan(mmd2(normal(20, 2, 1), np.ones((20, 2))))


def test_one_row_is_not_enough():
    with pytest.raises(ValueError, match=r"\(1, 2\).*two rows"):
        mmd2(normal(1, 2, 1), normal(20, 2, 2))

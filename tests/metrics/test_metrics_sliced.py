"""Sliced Wasserstein distances against closed forms."""

import numpy as np
import pytest

from tallsbi.metrics.sliced import baseline, sliced_wasserstein


def sample(size=400, m=4, seed=0):
    return np.random.default_rng(seed).standard_normal((size, m))


@pytest.mark.parametrize("m", [1, 2, 10])
def test_a_shifted_copy_is_at_the_projected_distance(m):
    """W2 of a copy shifted by s along direction u is |u s|: the mean square is |s|^2 / m.

    (u s)^2 / |s|^2 is Beta(1/2, (m - 1)/2) with variance 2 (m - 1) / (m^2 (m + 2)): five standard errors.
    """
    a, shift, projections = sample(m=m), np.linspace(1, 2, m), 4000
    sliced, largest = sliced_wasserstein(a, a + shift, projections, 1)
    error = np.sqrt(2 * (m - 1) / (m**2 * (m + 2)) / projections)
    length = np.linalg.norm(shift)
    assert sliced**2 / length**2 == pytest.approx(1 / m, abs=5 * error + 1e-12)
    assert sliced <= largest <= length * (1 + 1e-12)
    if m <= 2:  # some direction comes close to the shift
        assert largest == pytest.approx(length, rel=1e-3)


def test_one_dimension_is_sorting():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((300, 1)), 2 * rng.standard_normal((300, 1)) + 1
    expected = np.sqrt(np.mean((np.sort(a[:, 0]) - np.sort(b[:, 0])) ** 2))
    assert sliced_wasserstein(a, b, 20, 0) == pytest.approx((expected, expected))


def test_scaled_gaussians_in_the_limit():
    """N(0, 1) and N(0, 9): W2 = 2 in every direction; 20 000 draws are within 5 %."""
    sliced, _ = sliced_wasserstein(sample(20_000, 3, 1), 3 * sample(20_000, 3, 2), 50, 0)
    assert sliced == pytest.approx(2, rel=0.05)


def test_equal_samples_are_at_distance_zero():
    a = sample()
    assert sliced_wasserstein(a, a[::-1], 50, 0) == pytest.approx((0, 0), abs=1e-6)


def test_samples_of_different_size():
    a = sample(300)
    assert sliced_wasserstein(a, np.repeat(a, 2, axis=0), 50, 0) == pytest.approx((0, 0), abs=1e-6)


def test_the_seed_fixes_the_directions():
    a, b = sample(seed=1), sample(seed=2)
    assert sliced_wasserstein(a, b, 30, 5) == sliced_wasserstein(a, b, 30, 5)
    assert sliced_wasserstein(a, b, 30, 5) != sliced_wasserstein(a, b, 30, 6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_a_number_in_gives_not_a_number_out(bad):
    a, b = sample(), sample(seed=1)
    b[3, 2] = bad
    assert all(np.isnan(sliced_wasserstein(a, b, 10, 0)))
    assert all(np.isnan(sliced_wasserstein(b, a, 10, 0)))


def test_single_precision_input():
    a = sample()
    double = sliced_wasserstein(a, a + 1, 50, 0)
    single = sliced_wasserstein(a.astype("float32"), (a + 1).astype("float32"), 50, 0)
    assert single == pytest.approx(double, rel=1e-6)


def test_baseline_is_positive_and_shrinks_with_the_sample():
    reference = sample(4000)
    rng = np.random.default_rng(0)
    small, large = (baseline(reference, size, 5, 100, rng) for size in (100, 1600))
    assert 0 < large[0] < small[0]
    assert large[0] <= large[1]
    # Sixteen times the draws: about a quarter of the distance.
    assert small[0] / large[0] == pytest.approx(4, rel=0.3)


def test_baseline_uses_disjoint_subsets():
    with pytest.raises(ValueError, match="need 200 reference draws, not 150"):
        baseline(sample(150), 100, 2, 10, np.random.default_rng(0))

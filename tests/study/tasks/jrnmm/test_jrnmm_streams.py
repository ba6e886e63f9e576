"""The random numbers: Philox's published test vectors, the same stream in Python, and statistics.

Statistical tests are seeded; each states how often it would fail by chance with fresh seeds.
"""

import numpy as np
import pytest
from jrnmm_oracles import normals as plain_normals
from jrnmm_oracles import philox
from scipy import stats

from tallsbi.study.tasks.jrnmm import kernel
from tallsbi.study.tasks.jrnmm.simulator import normals

# Counter, key and output of Philox4x32-10, from the authors' file of known answers.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN)
def test_philox_gives_the_known_answers(counter, key, output):
    assert philox(words(counter), words(key)) == words(output)
    assert kernel._philox(*words(counter), *words(key)) == words(output)


@pytest.mark.parametrize("seed", [0, 7, 2**32 + 5, 2**63 - 1])
@pytest.mark.parametrize("index", [0, 63, 2**32 - 1, 2**32, 2**62 + 3])
def test_streams_are_those_of_the_counter_and_the_key(seed, index):
    np.testing.assert_allclose(normals(seed, index, 1, 30)[0], plain_normals(seed, index, 30), atol=1e-12)


def test_streams_side_by_side_and_of_any_length():
    many = normals(3, 1000, 150, 41)
    assert many.shape == (150, 41)
    for i in (0, 63, 64, 149):
        np.testing.assert_array_equal(normals(3, 1000 + i, 1, 41)[0], many[i])
    np.testing.assert_array_equal(normals(3, 1000, 150, 7), many[:, :7])


def test_normals_are_normal():
    """Kolmogorov-Smirnov, and the first four moments within five standard deviations; 2e-6 in all."""
    z = normals(1, 0, 64, 20_000).ravel()
    assert stats.kstest(z, "norm").pvalue > 1e-7
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(z**power) - mean) < 5 * np.sqrt(variance / len(z)), power
    # As many beyond four as there should be: Poisson.
    tail = 2 * stats.norm.sf(4) * len(z)
    assert abs((np.abs(z) > 4).sum() - tail) < 5 * np.sqrt(tail)


def test_different_simulations_and_seeds_are_uncorrelated():
    """7,140 correlations of 40,000 normals and as many of their squares; false alarm 5e-4."""
    n = 40_000
    z = np.concatenate([normals(seed, first, 20, n) for seed, first in ((0, 0), (0, 2**40), (1, 0), (2, 0))])
    z = np.concatenate([z, normals(0, 64, 40, n)])
    for values in (z, z**2):
        correlation = np.corrcoef(values) * np.sqrt(n)
        assert np.abs(correlation[np.triu_indices(len(z), 1)]).max() < 5.5


def test_a_stream_is_uncorrelated_in_itself():
    """Of normals up to 24 places apart, among them the two of a pair, and of their squares; 3e-5."""
    z = normals(5, 0, 64, 12_000)
    for values in (z, (z**2 - 1) / np.sqrt(2)):
        for lag in range(1, 25):
            products = values[:, lag:] * values[:, :-lag]
            assert abs(products.mean()) * np.sqrt(products.size) < 5, lag


def test_every_place_in_a_step_is_standard_normal():
    """Means and covariance of the six normals of a step, 320,000 steps; 27 entries, false alarm 2e-5."""
    z = normals(6, 0, 64, 30_000).reshape(-1, 6)
    assert np.abs(z.mean(0)).max() * np.sqrt(len(z)) < 5
    error = np.abs(np.cov(z.T) - np.eye(6)) * np.sqrt(len(z)) / np.sqrt(1 + np.eye(6))
    assert error.max() < 5


def test_elementary_functions_are_exact_to_a_few_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-500, 500, 500), rng.uniform(-1, 1, 500), [0.0, -500.0, 500.0]])
    ours = np.array([kernel._exp(value) for value in x])
    np.testing.assert_allclose(ours, np.exp(x), rtol=1e-15)
    u = np.concatenate(
        [rng.random(500), 2.0 ** -rng.uniform(0, 33, 500), 1 - 2.0 ** -rng.uniform(1, 33, 500)]
    )
    np.testing.assert_allclose([kernel._log(value) for value in u], np.log(u), rtol=2e-15)


def test_the_sigmoid_saturates():
    assert kernel._sigmoid(0.0) == 0.5
    assert kernel._sigmoid(-1e9) == 1.0
    assert 0 <= kernel._sigmoid(1e9) < 1e-200


def test_extreme_words_give_finite_normals():
    for first in (0, 2**32 - 1):
        for second in (0, 2**31 - 1, 2**31, 2**32 - 1):
            z = np.array(kernel._two_normals(first, second))
            assert np.isfinite(z).all()
            assert np.hypot(*z) == pytest.approx(np.sqrt(-2 * np.log((first + 0.5) / 2**32)), rel=1e-12)

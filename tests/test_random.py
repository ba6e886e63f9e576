"""Random streams depend on the study seed and their names only."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallsbi.random import integer_seed, numpy_generator, seed_sequence, torch_generator

names = st.lists(
    st.one_of(
        st.text(max_size=6), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
    ),
    max_size=4,
).map(tuple)


def kinds(parts):
    """The names as Python compares them, but with text apart from numbers."""
    return [(isinstance(part, str), part) for part in parts]


def test_values_never_change():
    # Pinned: another value here means that every result of the study changes.
    assert integer_seed(2026, "toy", "JAC", 0.01, 3) == 5365868822689638214
    assert numpy_generator(2026, "toy").integers(0, 2**32) == 3312057371


def test_order_of_calls_does_not_count():
    first = numpy_generator(1, "a").normal(size=5)
    numpy_generator(1, "b").normal(size=100)
    np.random.default_rng(0).normal(size=3)
    assert np.array_equal(numpy_generator(1, "a").normal(size=5), first)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("a", "bc"), ("ab", "c")),
        (("abc",), ("a", "bc")),
        ((1,), ("1",)),
        ((0.5,), ("0.5",)),
        ((), ("",)),
        ((1, 2), (12,)),
        ((1, 2), (2, 1)),
        (("s1:a",), ("a",)),
        ((0.1,), (0.1 + 1e-16,)),
    ],
)
def test_different_names_differ(left, right):
    assert integer_seed(7, *left) != integer_seed(7, *right)


@pytest.mark.parametrize(
    ("left", "right"), [(1, 1.0), (0.0, -0.0), (3, np.int64(3)), (0.1, np.float64(0.1)), (1e22, 10**22)]
)
def test_equal_numbers_name_one_stream(left, right):
    assert integer_seed(7, "x", left) == integer_seed(7, "x", right)


def test_study_seed_counts():
    assert integer_seed(1, "a") != integer_seed(2, "a")
    assert integer_seed(1, 2) != integer_seed(2, 1)


@given(left=names, right=names)
def test_streams_are_equal_exactly_if_the_names_are(left, right):
    same = seed_sequence(1, *left).entropy == seed_sequence(1, *right).entropy
    assert same == (kinds(left) == kinds(right))


def test_no_collisions_on_a_large_grid():
    grid = itertools.product(["GAUSS", "JAC", "LANGEVIN"], [0, 0.001, 0.01, 0.1], range(1, 9), range(100))
    seeds = [integer_seed(2026, "toy", *cell) for cell in grid]
    assert len(set(seeds)) == len(seeds) == 9600
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_neighbouring_streams_are_uncorrelated():
    draws = np.stack([numpy_generator(2026, "x", index).normal(size=2000) for index in range(20)])
    correlation = np.corrcoef(draws) - np.eye(20)
    assert np.abs(correlation).max() < 5 / np.sqrt(2000)


@pytest.mark.parametrize("name", [True, None, np.float32(0.1), float("nan"), float("inf"), ("a",), b"a"])
def test_other_names_are_refused(name):
    with pytest.raises(TypeError, match="random stream"):
        seed_sequence(1, name)


@pytest.mark.parametrize("seed", [True, 1.0, "1", None])
def test_study_seed_is_an_integer(seed):
    with pytest.raises(TypeError, match="study seed"):
        seed_sequence(seed, "a")


def test_torch_stream_is_its_own():
    torch = pytest.importorskip("torch")
    first = torch.rand(1000, generator=torch_generator(3, "a"), dtype=torch.float64)
    torch.manual_seed(0)
    torch.rand(10)
    again = torch.rand(1000, generator=torch_generator(3, "a"), dtype=torch.float64)
    assert torch.equal(first, again)
    assert not torch.equal(first, torch.rand(1000, generator=torch_generator(3, "b"), dtype=torch.float64))
    uniform = numpy_generator(3, "a").random(1000)
    assert abs(np.corrcoef(first.numpy(), uniform)[0, 1]) < 5 / np.sqrt(1000)
    assert not np.intersect1d(first.numpy(), uniform).size

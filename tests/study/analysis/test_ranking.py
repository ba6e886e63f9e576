"""The best method of a cell and its ties."""

import numpy as np
import pandas as pd
import pytest
from table_data import concat, frame

from tallsbi.study.analysis.ranking import by_method, rank, rank_metrics

COUNTS = pytest.mark.parametrize("count", [1, 3, 5, 25])


def distances(count, seed=0, **factors):
    """sW of methods over three orders of magnitude of the sets; each method is a noisy multiple of the first."""
    draws = np.random.default_rng(seed)
    base = np.exp(draws.uniform(np.log(1e-3), 0.0, count))
    return pd.DataFrame(
        {name: base * factor * np.exp(0.1 * draws.normal(size=count)) for name, factor in factors.items()}
    )


def leading(ranks):
    return set(ranks.index[ranks.best | ranks.tied])


def test_paired_difference_decides_and_not_the_spread_over_sets():
    hard = np.array([0.1, 0.5, 1.0, 3.0])
    steady, wild = np.array([0.01, 0.011, 0.01, 0.012]), np.array([0.1, -0.1, 0.1, -0.05])
    ranks = rank(pd.DataFrame({"A": hard, "B": hard + steady, "C": hard + wild}), logarithms=False)
    assert ranks.best.to_dict() == {"A": True, "B": False, "C": False}
    assert ranks.tied.to_dict() == {"A": False, "B": False, "C": True}
    assert ranks.difference["B"] == pytest.approx(0.01075)
    assert ranks["mean"]["A"] == pytest.approx(1.15)
    assert ranks["std"]["A"] == pytest.approx(hard.std(ddof=1))


def test_a_set_with_large_distances_does_not_decide_for_the_others():
    # B is 20 % worse on 24 sets and 20 % better on the one whose distances are a thousand times as large.
    base = np.append(np.linspace(0.01, 0.02, 24), 15.0)
    ranks = rank(pd.DataFrame({"A": base, "B": base * np.append(np.full(24, 1.2), 1 / 1.2)}), logarithms=True)
    assert ranks["mean"]["B"] < ranks["mean"]["A"]
    assert leading(ranks) == {"A"}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("logarithms", [True, False])
def test_a_method_with_a_lost_set_is_not_best(bad, logarithms):
    ranks = rank(pd.DataFrame({"A": [0.1, bad, 0.1], "B": [0.5, 0.6, 0.7]}), logarithms)
    assert ranks.best.to_dict() == {"A": False, "B": True}
    assert not ranks.tied.any()
    assert ranks.loc["A", ["mean", "lost", "sets"]].tolist() == [0.1, 1, 3]
    assert not rank(pd.DataFrame({"A": [bad], "B": [bad]}), logarithms).best.any()


def test_one_set_has_no_ties_but_equal_distances():
    ranks = rank(pd.DataFrame({"A": [0.1], "B": [0.1], "C": [0.1001]}), logarithms=True)
    assert ranks.best.sum() == 1
    assert ranks.tied.tolist() == [False, True, False]


@COUNTS
@pytest.mark.parametrize("logarithms", [True, False])
@pytest.mark.parametrize("constant", [1e-6, 0.3, 7e5])
def test_a_constant_factor_changes_nothing(count, logarithms, constant):
    for seed in range(10):
        values = distances(count, seed, A=1.0, B=1.02, C=1.3, D=3.0, E=500.0)
        ranks, scaled = rank(values, logarithms), rank(constant * values, logarithms)
        assert ranks[["best", "tied", "blown_up"]].equals(scaled[["best", "tied", "blown_up"]])
        np.testing.assert_allclose(ranks.p_value, scaled.p_value, rtol=1e-6)


@COUNTS
@pytest.mark.parametrize("size", [1e3, 1e61, 1e150])
def test_one_exploded_set_makes_a_method_lose(count, size):
    # Half as far off as the other on all sets but one.
    values = distances(count, A=1.0, B=0.5)
    values.loc[count // 2, "B"] = size
    ranks = rank(values, logarithms=True)
    assert leading(ranks) == {"A"}
    assert ranks.blown_up.to_dict() == {"A": 0, "B": 1}


@pytest.mark.parametrize("count", [3, 5, 25])
def test_a_tied_method_is_nowhere_ten_times_as_far_off(count):
    values = distances(count, A=1.0).assign(B=lambda table: table.A)
    for factor, tied in ((8.0, True), (12.0, False)):
        values.loc[0, "B"] = factor * values.A[0]
        assert rank(values, logarithms=True).tied["B"] == tied


@COUNTS
def test_an_exploded_method_is_out_for_bounded_metrics_too(count):
    sw = distances(count, A=1.0, B=1.0)
    sw.loc[0, "B"] = 5.7e61
    draws = np.random.default_rng(1)
    mmd = pd.DataFrame({"A": 0.1 + 0.01 * draws.normal(size=count), "B": -0.01})
    c2st = pd.DataFrame({"A": 0.8 + 0.01 * draws.normal(size=count), "B": 0.5})
    ranked = rank_metrics({"sw": sw, "mmd": mmd, "c2st": c2st})
    assert [leading(ranks) for ranks in ranked.values()] == 3 * [{"A"}]
    lost = rank_metrics({"sw": sw.where(sw < 1e61), "mmd": mmd, "c2st": c2st})
    assert leading(lost["c2st"]) == {"A"}


@COUNTS
@pytest.mark.parametrize("logarithms", [True, False])
def test_identical_methods_tie(count, logarithms):
    values = distances(count, A=1.0)
    ranks = rank(values.assign(B=values.A, C=values.A), logarithms)
    assert leading(ranks) == {"A", "B", "C"}
    assert ranks.best.sum() == 1
    zero = rank(0.0 * values.assign(B=values.A), logarithms)
    assert leading(zero) == {"A", "B"}


@pytest.mark.parametrize("count", [3, 5, 25])
@pytest.mark.parametrize("logarithms", [True, False])
def test_equal_methods_tie_and_unequal_ones_do_not(count, logarithms):
    draws = np.random.default_rng(2)
    noise = 0.05 * draws.normal(size=(400, 2, count))
    shares = []
    for shift in (0.0, 0.5):
        tables = (pd.DataFrame({"A": 1 + a, "B": 1 + shift + b}) for a, b in noise)
        shares.append(np.mean([rank(table, logarithms).tied.any() for table in tables]))
    # 95 % by the two-sided level: the better looking of two equal ones is the best. Four standard deviations.
    assert shares[0] == pytest.approx(0.95, abs=4 * np.sqrt(0.05 * 0.95 / 400))
    assert shares[1] < 0.1


def test_mmd_below_zero_is_compared_as_it_is():
    ranks = rank(pd.DataFrame({"A": [-0.001, 0.0, 0.001], "B": [0.3, 0.31, 0.29]}), logarithms=False)
    assert leading(ranks) == {"A"}
    with pytest.raises(ValueError, match="below zero has no logarithm"):
        rank(pd.DataFrame({"A": [-0.1, 0.1]}), logarithms=True)


def test_matrix_of_a_cell_keeps_the_order_of_the_methods():
    cell = concat(frame([1, 2], method="JAC", steps=400), frame([3, 4]), frame([5, 6], steps=50))
    matrix = by_method(cell, "sw")
    assert list(matrix.columns) == [("JAC", 400), ("GAUSS", 1000), ("GAUSS", 50)]
    np.testing.assert_array_equal(matrix, [[1, 3, 5], [2, 4, 6]])
    assert rank(matrix, logarithms=True).loc[("JAC", 400), "best"]


def test_a_set_that_was_not_measured_is_refused():
    with pytest.raises(ValueError, match=r"sw: 3 distances for 2 parameter sets and 2 methods.*measure"):
        by_method(concat(frame([1, 2]), frame([3], method="JAC")), "sw")

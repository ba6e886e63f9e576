"""The best method of a cell and its ties."""

import numpy as np
import pandas as pd
import pytest
from table_data import frame, together

from tallsbi.study.analysis.ranking import by_method, rank


def test_paired_difference_decides_and_not_the_spread_over_sets():
    hard = np.array([0.1, 0.5, 1.0, 3.0])
    steady, wild = np.array([0.01, 0.011, 0.01, 0.012]), np.array([0.1, -0.1, 0.1, -0.05])
    ranks = rank(pd.DataFrame({"A": hard, "B": hard + steady, "C": hard + wild}))
    assert ranks.best.to_dict() == {"A": True, "B": False, "C": False}
    assert ranks.tied.to_dict() == {"A": False, "B": False, "C": True}
    assert ranks.difference["B"] == pytest.approx(0.01075)
    assert ranks.error["C"] == pytest.approx(wild.std(ddof=1) / 2)
    assert ranks["mean"]["A"] == pytest.approx(1.15)
    assert ranks["std"]["A"] == pytest.approx(hard.std(ddof=1))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_method_with_a_diverged_set_is_not_best(bad):
    ranks = rank(pd.DataFrame({"A": [0.1, bad, 0.1], "B": [0.5, 0.6, 0.7]}))
    assert ranks.best.to_dict() == {"A": False, "B": True}
    assert not ranks.tied.any()
    assert ranks.loc["A", ["mean", "diverged", "sets"]].tolist() == [0.1, 1, 3]
    assert not rank(pd.DataFrame({"A": [bad], "B": [bad]})).best.any()


def test_one_set_has_no_ties_but_equal_distances():
    ranks = rank(pd.DataFrame({"A": [0.1], "B": [0.1], "C": [0.1001]}))
    assert ranks.best.sum() == 1
    assert ranks.tied.tolist() == [False, True, False]


def test_matrix_of_a_cell_keeps_the_order_of_the_methods():
    cell = together(frame([1, 2], method="JAC", steps=400), frame([3, 4]), frame([5, 6], steps=50))
    matrix = by_method(cell, "sw")
    assert list(matrix.columns) == [("JAC", 400), ("GAUSS", 1000), ("GAUSS", 50)]
    np.testing.assert_array_equal(matrix, [[1, 3, 5], [2, 4, 6]])
    assert rank(matrix).loc[("JAC", 400), "best"]


def test_a_set_that_was_not_measured_is_refused():
    with pytest.raises(ValueError, match=r"sw: 3 distances for 2 parameter sets and 2 methods.*measure"):
        by_method(together(frame([1, 2]), frame([3], method="JAC")), "sw")

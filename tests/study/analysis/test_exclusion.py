"""The published exclusion rule: what it looks at, what it flags, and when it is void."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_data import concat, frame

from tallsbi.study.analysis.exclusion import PUBLISHED_LISTS, Exclusion, keep, numbers, outliers, published

ORDINARY = 0.1 + 0.001 * np.arange(25)


def worst_at(index):
    """25 distances, the largest that of `index`."""
    return np.where(np.arange(25) == index, 1.0, ORDINARY)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 10**9).map(float), min_size=2, max_size=100, unique=True))
def test_up_to_100_distances_lose_exactly_the_worst(values):
    assert outliers(pd.Series(values)) == {int(np.argmax(values))}


def test_equal_distances_lose_none_and_no_finite_distance_loses_all():
    assert outliers(pd.Series([0.3] * 25)) == set()
    assert outliers(pd.Series([np.nan, np.nan], index=[4, 7])) == {4, 7}
    assert outliers(pd.Series([0.1, np.nan, 0.3, np.inf, 0.2])) == {1, 2, 3}


def test_only_gauss_with_more_than_3000_simulations_is_looked_at():
    metrics = concat(
        frame(worst_at(3), n_train=3000),
        frame(worst_at(5), n_train=10000),
        frame(worst_at(8), n_train=30000, n=14),
        frame(worst_at(13), method="LANGEVIN"),
        frame(worst_at(17), method="GAUSS-clip"),
        frame(worst_at(20), task="gmm"),
    )
    rule = published(metrics, "slcp")
    assert rule.flagged == rule.excluded == (5, 8)
    assert rule.kept == tuple(i for i in range(25) if i not in (5, 8))


def test_flags_of_sw_and_mmd_are_united_and_c2st_has_none():
    metrics = frame(ORDINARY).assign(mmd=worst_at(2), c2st=worst_at(11))
    assert published(metrics, "slcp").flagged == (2, 24)


def test_a_lost_set_of_gauss_is_flagged():
    values = np.where(np.arange(25) == 6, np.nan, worst_at(9))
    assert published(frame(values), "slcp").flagged == (6, 9)


def test_number_12_of_sir_is_always_out_and_is_index_11():
    assert published(frame(ORDINARY, task="sir", n_train=1000), "sir").excluded == (11,)
    assert published(frame(ORDINARY, task="slcp", n_train=1000), "slcp").excluded == ()
    assert published(frame(ORDINARY[:5], task="sir", n_train=1000), "sir").excluded == ()
    assert numbers((11,)) == "12"
    assert numbers(()) == "none"


def test_rule_is_void_where_it_would_leave_fewer_than_half():
    metrics = concat(frame([1, 2, 3]), frame([3, 2, 1], n=14))
    rule = published(metrics, "slcp")
    assert rule.flagged == (0, 2)
    assert rule.void
    assert rule.kept == (0, 1, 2)
    assert rule.excluded == ()
    assert not Exclusion("slcp", (0, 1, 2, 3), (0, 1)).void


def test_flagged_sets_leave_every_method_and_cell():
    metrics = concat(
        frame(worst_at(5)), frame(ORDINARY, method="JAC-clip"), frame(ORDINARY, n=14, n_train=1000)
    )
    kept = keep(metrics, published(metrics, "slcp"))
    assert kept.groupby(["method", "n"]).size().tolist() == [24, 24, 24]
    assert 5 not in set(kept.set)


@pytest.mark.parametrize("task", ["slcp", "nothing"])
def test_a_task_without_data_has_no_sets(task):
    rule = published(frame(ORDINARY, task="gmm"), task)
    assert rule.sets == rule.kept == rule.excluded == ()


def test_published_lists_take_the_place_of_the_rule():
    """By the paper's numbers: 18 sets of SLCP, 21 of Lotka-Volterra and 17 of SIR are left."""
    lists = {task: published(frame(worst_at(7), task=task), task, listed=True) for task in PUBLISHED_LISTS}
    assert {task: numbers(rule.excluded) for task, rule in lists.items()} == {
        "slcp": "1, 3, 5, 6, 17, 19, 25",
        "lotka_volterra": "3, 19, 20, 23",
        "sir": "5, 6, 8, 12, 15, 20, 23, 24",
    }
    assert [len(rule.kept) for rule in lists.values()] == [18, 21, 17]
    assert published(frame(worst_at(7), task="gmm"), "gmm", listed=True).excluded == (7,)  # no list: the rule
    assert published(frame(ORDINARY[:5]), "slcp", listed=True).void  # three of five would go

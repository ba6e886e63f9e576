"""Each kind of test on data with a known answer: as claimed, against it, undecided; and how often it is wrong."""

import numpy as np
import pandas as pd
import pytest

from tallsbi.study.claims import kinds
from tallsbi.study.claims.spec import parse_test
from tallsbi.study.claims.verdicts import CombinedEvidence, Verdict, judge

HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED


def distances(ratio, sets=10, n_obs=(1, 8), noise=0.2, seed=0, tasks=("sir",)):
    """A's distance on every set, and B's `ratio` times as large on average; sets differ by far more than methods."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in tasks:
        hard = np.exp(2 * rng.normal(size=sets))
        for n in n_obs:
            for index in range(sets):
                for method, size in (("A", 1.0), ("B", ratio)):
                    value = size * hard[index] * np.exp(noise * rng.normal())
                    rows.append((task, n, index, method, value))
    return pd.DataFrame(rows, columns=["task", "n", "set", "method", "sw"])


def evidence(test, data):
    return kinds.evidence(parse_test(test), data)


def verdict(test, frame):
    return judge(evidence({"data": "it", **test}, lambda name: frame))


def expectation(test):
    return parse_test({"data": "it", **test}).expected


COMPARE = {"kind": "compare", "value": "sw", "unit": ["set"], "over": ["n"], "left": {"method": "A"}}
COMPARE |= {"right": {"method": "B"}, "expect": "less"}


@pytest.mark.parametrize(
    ("ratio", "expect", "answer"),
    [
        (1.5, "less", HOLDS),
        (0.7, "less", FAILS),
        (1.0, "less", UNDECIDED),
        (0.7, "greater", HOLDS),
        (1.5, "greater", FAILS),
        (1.0, {"about": 0.25}, HOLDS),
        (2.0, {"about": 0.25}, FAILS),
        (1.25, {"about": 0.25}, UNDECIDED),
        (4.0, {"below": 0.5}, HOLDS),
        (1.2, {"below": 0.5}, FAILS),
        (2.0, {"between": [0.4, 0.6]}, HOLDS),
    ],
)
def test_a_comparison_holds_fails_or_is_undecided(ratio, expect, answer):
    assert verdict({**COMPARE, "expect": expect}, distances(ratio, noise=0.1, seed=1)) == answer


def test_compare_is_paired():
    """The sets differ a hundredfold: without pairing a tenth would drown."""
    frame = distances(1.1, noise=0.03)
    assert verdict(COMPARE, frame) == HOLDS
    shuffled = frame.copy()
    b = frame.method == "B"
    shuffled.loc[b, "set"] = 9 - shuffled.loc[b, "set"]
    assert verdict(COMPARE, shuffled) == UNDECIDED


def test_two_sets_never_decide():
    leaf = evidence({"data": "it", **COMPARE}, lambda name: distances(1000.0, sets=2))
    assert judge(leaf) == UNDECIDED
    assert leaf.missing == "2 set, 3 are needed"
    several = {**COMPARE, "unit": ["task", "set"]}
    for sets, answer in ((2, UNDECIDED), (3, HOLDS)):
        assert verdict(several, distances(1000.0, sets=sets, tasks=("sir", "slcp", "gmm"))) == answer
    assert verdict(COMPARE, distances(1000.0, sets=4)) == UNDECIDED


def test_differences_where_values_may_be_negative():
    frame = distances(1.5).assign(sw=lambda f: np.log(f.sw))
    with pytest.raises(ValueError, match="no logarithm: use `scale: difference`"):
        verdict(COMPARE, frame)
    assert verdict({**COMPARE, "scale": "difference"}, frame) == HOLDS


def lose(frame, method, sets):
    return frame.assign(sw=frame.sw.where(~((frame.method == method) & frame.set.isin(sets)), np.inf))


def test_a_lost_run_is_worse_than_any_finite_one():
    even = distances(1.0)
    assert verdict(COMPARE, lose(even, "B", range(10))) == HOLDS
    assert verdict(COMPARE, lose(even, "A", range(10))) == FAILS
    assert verdict(COMPARE, lose(lose(even, "A", range(10)), "B", range(10))) == UNDECIDED
    assert verdict(COMPARE, lose(even, "B", [3])) == UNDECIDED
    # Five seeds are too few for ranks, but losing all against none is no chance.
    assert verdict(COMPARE, lose(distances(1.0, sets=5), "B", range(5))) == HOLDS
    assert verdict(COMPARE, lose(distances(1.0, sets=5), "B", range(2))) == UNDECIDED


def test_every_side_of_a_list_and_every_cell_is_asked():
    frame = pd.concat([distances(1.5), distances(1.5, seed=1).query("method == 'B'").assign(method="C")])
    both = {**COMPARE, "right": {"method": ["B", "C"]}}
    frame.loc[frame.method == "C", "sw"] = frame.loc[frame.method == "A", "sw"].to_numpy() * 3
    tree = evidence({"data": "it", **both}, lambda name: frame)
    assert [leaf.label for leaf in tree.children] == ["A vs B", "A vs C"]
    assert judge(tree) == HOLDS
    frame.loc[frame.method == "C", "sw"] /= 9
    assert verdict(both, frame) == FAILS
    each = {**COMPARE, "each": ["n"]}
    each.pop("over")
    mixed = distances(1.5)
    mixed.loc[(mixed.n == 8) & (mixed.method == "B"), "sw"] /= 9
    assert verdict(each, mixed) == FAILS
    some = {**each, "some": each["each"]}
    some.pop("each")
    assert verdict(some, mixed) == HOLDS


def test_rows_counted_twice_are_refused():
    forgotten = {**COMPARE}
    forgotten.pop("over")
    with pytest.raises(ValueError, match=r"several rows per set; they differ in n"):
        verdict(forgotten, distances(1.5))


def test_lacking_data_say_what_there_is_instead():
    for where, words in (
        ({"n": {"min": 14}}, "no data with n >= 14 (there is n = 1, 8)"),
        ({"method": ["X"]}, "no data with method in X (there is method = A, B)"),
    ):
        leaf = evidence({"data": "it", **COMPARE, "where": where}, lambda name: distances(1.5))
        assert judge(leaf) == UNDECIDED
        assert leaf.missing == words
    leaf = evidence({"data": "it", **COMPARE, "needs": {"n": 30}}, lambda name: distances(1.5))
    assert leaf.missing == "n is 1, the test needs 30"
    leaf = evidence({"data": "it", **COMPARE, "right": {"method": "X"}}, lambda name: distances(1.5))
    assert "method = X" in leaf.missing
    with pytest.raises(ValueError, match="no column nn"):
        verdict({**COMPARE, "where": {"nn": 1}}, distances(1.5))


def growing(power, sets=10, noise=0.2, n_obs=(1, 8, 14, 30), seed=0):
    rng = np.random.default_rng(seed)
    hard = np.exp(2 * rng.normal(size=sets))
    rows = [(n, i, hard[i] * n**power * np.exp(noise * rng.normal())) for n in n_obs for i in range(sets)]
    return pd.DataFrame(rows, columns=["n", "set", "sw"])


TREND = {"kind": "trend", "value": "sw", "unit": ["set"], "x": "n"}


@pytest.mark.parametrize(
    ("power", "expect", "answer"),
    [
        (0.3, "greater", HOLDS),
        (0.3, "less", FAILS),
        (0.0, "greater", UNDECIDED),
        (0.0, {"about": 0.2}, HOLDS),
        (1.0, {"about": 0.2}, FAILS),
        (-0.5, {"below": -0.2}, HOLDS),
    ],
)
def test_a_trend_holds_fails_or_is_undecided(power, expect, answer):
    assert verdict({**TREND, "expect": expect}, growing(power, seed=1)) == answer


def test_slope_is_that_of_the_power_law():
    leaf = evidence({"data": "it", **TREND, "expect": "greater"}, lambda name: growing(0.4, noise=1e-9))
    assert leaf.estimate == pytest.approx(0.4)
    holes = growing(0.4, noise=1e-9).drop(index=[3, 17, 22])
    leaf = evidence({"data": "it", **TREND, "expect": "greater"}, lambda name: holes)
    assert leaf.estimate == pytest.approx(0.4)


def test_trend_with_lost_runs_at_large_n_is_increasing():
    frame = growing(0.0)
    frame.loc[frame.n >= 14, "sw"] = np.inf
    assert verdict({**TREND, "expect": "greater"}, frame) == HOLDS
    frame["sw"] = np.inf
    assert verdict({**TREND, "expect": "greater"}, frame) != HOLDS


def test_one_value_of_x_is_no_trend():
    leaf = evidence({"data": "it", **TREND, "expect": "less"}, lambda name: growing(0.3, n_obs=(8,)))
    assert judge(leaf) == UNDECIDED
    assert leaf.missing == "only one n (8): no trend"


def test_trend_of_a_ratio():
    frame = pd.concat([growing(0.3).assign(method="A"), growing(0.8, seed=0).assign(method="B")])
    sides = {"left": {"method": "B"}, "right": {"method": "A"}}
    assert verdict({**TREND, **sides, "expect": "greater"}, frame) == HOLDS
    assert verdict({**TREND, **sides, "expect": "less"}, frame) == FAILS


def test_a_value_is_compared_with_its_range():
    frame = distances(1.0, n_obs=(1,), noise=0.1).query("method == 'A'")
    frame = frame.assign(sw=0.7 + 0.02 * np.random.default_rng(0).normal(size=len(frame)))
    test = {"kind": "value", "value": "sw", "unit": ["set"]}
    assert verdict({**test, "expect": {"between": [0.65, 0.75]}}, frame) == HOLDS
    assert verdict({**test, "expect": {"above": 0.8}}, frame) == FAILS
    assert verdict({**test, "expect": {"below": 0.7}}, frame) == UNDECIDED


def test_shares_are_compared_with_a_bound_and_with_each_other():
    frame = pd.DataFrame({"set": range(20), "lost": [True] * 18 + [False] * 2, "method": "A"})
    share = {"kind": "share", "unit": ["set"], "condition": {"lost": True}}
    assert verdict({**share, "expect": {"above": 0.5}}, frame) == HOLDS
    assert verdict({**share, "expect": {"below": 0.5}}, frame) == FAILS
    assert verdict({**share, "expect": {"above": 0.85}}, frame) == UNDECIDED
    assert verdict({**share, "expect": {"above": 0.5}}, frame[:3]) == UNDECIDED
    both = pd.concat([frame, frame.assign(method="B", lost=False)])
    sides = {"kind": "shares", "left": {"method": "A"}, "right": {"method": "B"}}
    assert verdict({**share, **sides, "expect": "greater"}, both) == HOLDS
    assert verdict({**share, **sides, "expect": {"below": 0.05}}, both) == FAILS


def test_exact_values_are_judged_by_the_worst():
    frame = pd.DataFrame({"case": ["a", "b"], "value": [1e-9, 3e-9]})
    test = {"kind": "exact", "value": "value"}
    assert verdict({**test, "expect": {"below": 1e-6}}, frame) == HOLDS
    assert verdict({**test, "expect": {"below": 2e-9}}, frame) == FAILS
    assert verdict({**test, "expect": {"above": 2e-9}}, frame) == FAILS
    leaf = evidence({"data": "it", **test, "expect": {"below": 1}}, lambda name: frame)
    assert leaf.estimate == 3e-9


def test_conjunctions_nest():
    part = {"data": "it", **COMPARE}
    opposite = {**part, "expect": "greater"}
    tree = evidence(
        {"kind": "all", "of": [part, {"kind": "any", "of": [part, opposite]}]}, lambda _: distances(1.5)
    )
    assert isinstance(tree, CombinedEvidence)
    assert judge(tree) == HOLDS


def test_neutral_of_a_ratio_is_one_and_of_the_rest_zero():
    assert expectation({"kind": "compare", "expect": "less"}) == (-np.inf, 1.0)
    assert expectation({"kind": "compare", "scale": "difference", "expect": "less"}) == (-np.inf, 0.0)
    assert expectation({"kind": "trend", "expect": {"about": 0.1}}) == (-0.1, 0.1)
    assert expectation({"kind": "compare", "expect": {"about": 0.25}}) == (0.8, 1.25)


@pytest.mark.parametrize("sets", [5, 12])
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_equal_methods_are_told_apart_as_rarely_as_stated(sets, lost):
    """100 repeats of a comparison without any difference, runs lost at random: each answer in 2.5 %.

    A true rate of 5 % gives more than 12 % wrong decisions with probability 0.001.
    """
    rng = np.random.default_rng(1)
    wrong = 0
    for repeat in range(100):
        frame = distances(1.0, sets=sets, n_obs=(1,), seed=repeat)
        frame["sw"] = frame.sw.where(rng.random(len(frame)) >= lost, np.inf)
        wrong += verdict(COMPARE, frame) != UNDECIDED
    assert wrong / 100 < 0.13


def test_flat_values_have_a_trend_as_rarely_as_stated():
    answers = [verdict({**TREND, "expect": "less"}, growing(0.0, sets=7, seed=seed)) for seed in range(100)]
    assert np.mean([answer != UNDECIDED for answer in answers]) < 0.13

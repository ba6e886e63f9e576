"""From evidence to a verdict: both answers need the same certainty, and several parts keep the error rate."""

import numpy as np
import pytest

from tallsbi.study.claims.intervals import centre_interval
from tallsbi.study.claims.verdicts import ALPHA, CombinedEvidence, Evidence, Verdict, judge

BELOW_ONE = (-np.inf, 1.0)


def known(low, high, expected=BELOW_ONE, exact=False):
    return Evidence("", expected, 0.5 * (low + high), lambda alpha: (low, high), 9, exact=exact)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.2, 0.9), Verdict.HOLDS),
        ((0.2, 1.0), Verdict.UNDECIDED),
        ((0.9, 1.1), Verdict.UNDECIDED),
        ((1.0, 1.0), Verdict.FAILS),
        ((1.1, 1.2), Verdict.FAILS),
        ((-np.inf, np.inf), Verdict.UNDECIDED),
    ],
)
def test_an_interval_decides_only_as_a_whole(interval, verdict):
    assert judge(known(*interval)) == verdict


def test_equality_within_a_margin_needs_an_interval_inside_it():
    margin = (0.8, 1.25)
    assert judge(known(0.9, 1.2, margin)) == Verdict.HOLDS
    assert judge(known(0.7, 1.3, margin)) == Verdict.UNDECIDED
    assert judge(known(1.3, 2.0, margin)) == Verdict.FAILS


def test_one_exact_value_outside_is_a_counterexample():
    assert judge(known(0.2, 0.9, exact=True)) == Verdict.HOLDS
    assert judge(known(0.2, 1.1, exact=True)) == Verdict.FAILS


def test_missing_data_decide_nothing():
    assert judge(Evidence("", BELOW_ONE, missing="no data")) == Verdict.UNDECIDED


def test_an_infinite_number_is_in_a_range_without_that_end():
    assert judge(known(np.inf, np.inf, (0.0, np.inf))) == Verdict.HOLDS
    assert judge(known(np.inf, np.inf, (-np.inf, 0.0))) == Verdict.FAILS
    assert judge(known(-np.inf, -np.inf, (-np.inf, 0.0))) == Verdict.HOLDS


HOLDS, FAILS, OPEN = known(0.1, 0.2), known(2, 3), known(0.5, 1.5)


@pytest.mark.parametrize(
    ("children", "every", "some"),
    [
        ((HOLDS, HOLDS), Verdict.HOLDS, Verdict.HOLDS),
        ((HOLDS, OPEN), Verdict.UNDECIDED, Verdict.HOLDS),
        ((HOLDS, FAILS), Verdict.FAILS, Verdict.HOLDS),
        ((OPEN, FAILS), Verdict.FAILS, Verdict.UNDECIDED),
        ((FAILS, FAILS), Verdict.FAILS, Verdict.FAILS),
        ((), Verdict.UNDECIDED, Verdict.UNDECIDED),
    ],
)
def test_all_and_any(children, every, some):
    assert judge(CombinedEvidence(children)) == every
    assert judge(CombinedEvidence(children, every=False)) == some


def noisy(rng, centre, count=8):
    """Evidence with noise, that the centre is below zero."""
    values = centre + rng.normal(size=count)
    return Evidence("", (-np.inf, 0.0), values.mean(), lambda alpha: centre_interval(values, alpha), count)


def rates(make, repeats=200):
    rng = np.random.default_rng(5)
    verdicts = [judge(make(rng)) for _ in range(repeats)]
    return {verdict: np.mean([answer == verdict for answer in verdicts]) for verdict in Verdict}


def test_ten_parts_without_any_difference_are_wrongly_decided_as_rarely_as_one():
    """200 repeats: a true rate of 5 % gives more than 10.5 % with probability 0.001."""
    for every in (True, False):
        shares = rates(
            lambda rng, every=every: CombinedEvidence(tuple(noisy(rng, 0.0) for _ in range(10)), every)
        )
        assert shares[Verdict.HOLDS] < 0.105
        assert shares[Verdict.FAILS] < 0.105


def test_one_part_that_is_wrong_among_nine_that_are_right_is_not_overlooked():
    """It takes one more wrong acceptance, which has probability alpha / 2, for the claim to hold."""
    shares = rates(lambda rng: CombinedEvidence((noisy(rng, 0.0), *(noisy(rng, -3.0) for _ in range(9)))))
    assert shares[Verdict.HOLDS] < ALPHA


def test_clear_cases_are_decided():
    assert (
        rates(lambda rng: CombinedEvidence(tuple(noisy(rng, -4.0) for _ in range(10))), 100)[Verdict.HOLDS]
        > 0.95
    )
    mixed = rates(
        lambda rng: CombinedEvidence((noisy(rng, 8.0, 12), *(noisy(rng, -4.0) for _ in range(5)))), 100
    )
    assert mixed[Verdict.FAILS] > 0.95


def test_of_alternatives_the_closest_is_told():
    ((leaf, verdict),) = CombinedEvidence((FAILS, HOLDS, OPEN), every=False).decisive()
    assert leaf is HOLDS
    assert verdict == Verdict.HOLDS
    ((leaf, verdict),) = CombinedEvidence((FAILS, OPEN), every=False).decisive()
    assert leaf is OPEN
    assert verdict == Verdict.UNDECIDED

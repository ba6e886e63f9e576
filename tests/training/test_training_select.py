"""The choice among trained networks: published table, and the rule with its ties."""

import json

import numpy as np
import pytest

from tallsbi.training.select import Candidate, select_published, select_stated, standard_error


def candidate(rate, batch, epoch, losses):
    return Candidate(rate, batch, epoch, losses)


def base(rows=400):
    return 0.3 + 0.1 * np.random.default_rng(3).random(rows)


def wiggle(rows=400):
    """Differences with mean exactly zero and standard deviation exactly one."""
    values = np.random.default_rng(4).standard_normal(rows)
    return (values - values.mean()) / values.std(ddof=1)


def test_the_published_choice_says_where_it_comes_from():
    choice = select_published("two_moons", 1e-4, 64)
    assert (choice["learning_rate"], choice["batch_size"], choice["rule"]) == (1e-4, 64, "published")
    assert choice["reason"] == "published choice for two_moons"


def test_a_clear_winner_wins_whatever_its_epoch():
    worse = candidate(1e-4, 256, 900, base() + 0.05 + 0.1 * wiggle())
    better = candidate(1e-3, 256, 10, base())
    for order in ([worse, better], [better, worse]):
        choice = select_stated(order)
        assert (choice["learning_rate"], choice["reason"]) == (1e-3, "lowest validation loss")


@pytest.mark.parametrize(("gap", "expected"), [(0.99, 1e-4), (1.01, 1e-3)])
def test_a_tie_is_one_standard_error_of_the_paired_differences(gap, expected):
    """The rows differ far more among each other than the two networks do on the same row."""
    noise = 0.01 * wiggle()
    error = 0.01 / 20
    lower = candidate(1e-3, 256, 10, base())
    later = candidate(1e-4, 256, 900, base() + noise + gap * error)
    choice = select_stated([lower, later])
    assert choice["learning_rate"] == expected
    assert ("equal within noise" in choice["reason"]) == (expected == 1e-4)


def test_ties_go_to_the_later_best_epoch_only_among_the_tied():
    lower = candidate(1e-3, 256, 10, base())
    tied = candidate(1e-4, 64, 20, base() + 0.01 * wiggle())
    bad = candidate(1e-4, 256, 5000, base() + 1)
    assert select_stated([bad, lower, tied])["batch_size"] == 64


def test_equal_candidates_give_the_smaller_rate_in_any_order():
    one, two = candidate(1e-3, 256, 10, base()), candidate(1e-4, 256, 10, base())
    assert select_stated([one, two])["learning_rate"] == 1e-4
    assert select_stated([two, one])["learning_rate"] == 1e-4


def test_the_choice_is_json_and_lists_every_candidate():
    choice = select_stated([candidate(1e-3, 256, 10, base()), candidate(1e-4, 64, 20, base() + 1)])
    assert json.loads(json.dumps(choice)) == choice
    assert [entry["batch_size"] for entry in choice["candidates"]] == [64, 256]
    assert choice["candidates"][1]["difference"] == 0


def test_standard_error():
    assert standard_error(np.array([1.0, 3.0])) == pytest.approx(1.0)
    assert standard_error(np.array([2.0])) == 0


@pytest.mark.parametrize(
    ("candidates", "message"),
    [([], "at least one"), ([candidate(1, 1, 1, base(5)), candidate(1, 1, 1, base(6))], r"\[5, 6\]")],
)
def test_what_cannot_be_compared_is_refused(candidates, message):
    with pytest.raises(ValueError, match=message):
        select_stated(candidates)

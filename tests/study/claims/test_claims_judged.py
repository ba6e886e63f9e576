"""The verdict and the reading of single claims, on a made-up run some of whose tables are others."""

import numpy as np
import pytest
from claims_data import FIDELITY, MAIN, run
from paths import ROOT

from tallsbi.study.claims.ledger import ledger
from tallsbi.study.claims.spec import SCHEMA, read
from tallsbi.study.claims.verdicts import Verdict
from tallsbi.study.claims.views import RunFacts, views

WHOLE = run(sets=12)
CLAIMS = read(ROOT / "workflow/resources/claims", ROOT / SCHEMA)


def judged(name, sets=12, **tables):
    """Verdict and reading of one claim on a run some of whose tables are others."""
    claims = [claim for claim in CLAIMS if claim.id == name]
    facts = RunFacts("max_sw", {task: range(sets) for task in MAIN}, "widened", (), {}, {})
    switches = {**FIDELITY, "uniform_bounds": "widened"}
    row = ledger(claims, views({**WHOLE, **tables}, facts), switches).iloc[0]
    return row.verdict, row.reading


def with_values(source, where, column, factor):
    frame = WHOLE[source]
    return {source: frame.assign(**{column: frame[column].mask(frame.eval(where), factor * frame[column])})}


def test_an_error_that_isotropic_covariances_have_too_is_not_due_to_anisotropy():
    where = "quantity == 'law_error' and method == 'DET_GEF' and n > 1 and case == 'isotropic'"
    verdict, reading = judged("C05", **with_values("theory", where, "value", 20.0))
    assert verdict == Verdict.FAILS
    assert "(case = anisotropic) vs (case = isotropic) 1 " in reading
    assert judged("C51", **with_values("theory", where, "value", 20.0))[0] == Verdict.FAILS


def test_covariances_that_take_gauss_further_off_than_chance_are_not_enough():
    """The wide prior is the headline: what the other one shows is not its verdict."""
    for case, verdict in (("gaussian-wide", Verdict.FAILS), ("gaussian-standard", Verdict.HOLDS)):
        where = f"quantity == 'covariance_effect' and case == '{case}'"
        assert judged("C07", **with_values("theory", where, "value", 6.0))[0] == verdict


def test_equal_times_are_asked_for_in_ten_dimensions():
    """GAUSS with 1000 steps takes as long as the others with 400 at m = 10, and far longer elsewhere."""
    timing = WHOLE["toy_timing"]
    noise = np.exp(0.01 * np.random.default_rng(0).normal(size=len(timing)))
    equal = noise * timing.steps / timing.method.map({"GAUSS": 1000.0}).fillna(400.0)
    assert judged("C14")[0] == Verdict.FAILS
    same = timing.assign(seconds=equal.where(timing.m == 10, timing.seconds))
    assert judged("C14", toy_timing=same)[0] == Verdict.HOLDS


def test_learning_rates_are_compared_in_each_setting_once_their_losses_have_ended():
    losses = WHOLE["jrnmm_losses"]
    smaller = losses.learning_rate == 0.0001
    ended = losses.assign(val_loss=abs(losses.epoch - 40) + 1.0 - 0.5 * smaller)
    falling = ended.assign(val_loss=ended.val_loss.mask(ended.task == "3d", 100.0 - ended.epoch))
    equal = ended.assign(val_loss=ended.val_loss + 0.5 * smaller)
    for given, verdict, words in (
        (ended, Verdict.HOLDS, "4 comparisons: 4 as claimed"),
        (equal, Verdict.FAILS, "2 as claimed, 2 against"),
        (falling, Verdict.UNDECIDED, "2 as claimed, 0 against, 2 open"),
    ):
        answer, reading = judged("C36", jrnmm_losses=given)
        assert (answer, words in reading) == (verdict, True), reading


def test_a_learned_prior_is_judged_at_each_n():
    verdict, reading = judged("C44", **with_values("guidance", "task == 'sir' and n == 8", "sw", 3.0))
    assert verdict == Verdict.FAILS
    assert "task = sir, n = 8" in reading
    gains = with_values("guidance", "task == 'sir'", "sw", 0.2)
    assert judged("C44", **gains)[0] == Verdict.HOLDS  # it costs nothing


def test_a_claim_that_the_data_can_decide_only_one_way_says_so():
    only = 'It can only come out as "does not hold".'
    assert only not in judged("C31")[1]
    fewer = WHOLE["sbibm_distances"].query("n_train == 1000")
    verdict, reading = judged("C31", sbibm_distances=fewer)
    assert verdict == Verdict.UNDECIDED
    assert f"C2ST at n = 1: n_train is 1000, the test needs 30000. {only}" in reading


@pytest.mark.parametrize(
    ("sets", "end"),
    [
        (5, " Lacking: task = lotka_volterra, n = 8: more than 5 set."),
        (8, ' more than 8 set. It can only come out as "holds".'),
        (12, " expected above 0.5."),
    ],
)
def test_sets_too_few_for_a_share_to_come_out_either_way_are_said_to_lack(sets, end):
    """Of five sets not even five are surely more than a half; none of eight is, at 5 % / 9, not surely less."""
    distances = WHOLE["sbibm_distances"].query("set < @sets")
    verdict, reading = judged("C24", sets=sets, sbibm_distances=distances, other_bounds=None)
    assert (verdict == Verdict.HOLDS) == (sets > 5)
    assert reading.endswith(end)


def test_one_lost_set_of_five_leaves_a_comparison_one_way():
    """Without an interval GAUSS cannot be shown to be better; on the other tasks it can be shown to be worse."""
    distances = WHOLE["sbibm_distances"].query("set < 5")
    lost = (distances.task == "slcp") & (distances.method == "LANGEVIN") & (distances.set == 0)
    gone = {"sw": np.nan, "lost_share": 0.5}
    some = distances.assign(**{name: distances[name].mask(lost, value) for name, value in gone.items()})
    reading = judged("C27", sets=5, sbibm_distances=some, other_bounds=None)[1]
    assert "Lacking: sW, task = slcp, GAUSS vs LANGEVIN: more than 5 set." in reading
    assert 'It can only come out as "does not hold".' in reading

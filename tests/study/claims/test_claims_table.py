"""The ledger of a whole made-up run: in one the paper's story is true, in one there is next to no data."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from claims_data import FIDELITY, HARDWARE, MAIN, run, settings
from config_files import resolved
from paths import ROOT

from tallsbi.study import artifacts
from tallsbi.study.claims.ledger import ledger
from tallsbi.study.claims.quantities import NAMES
from tallsbi.study.claims.spec import SCHEMA, read, single_tests
from tallsbi.study.claims.verdicts import Verdict
from tallsbi.study.claims.views import Facts, views
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.cells import Cell
from tallsbi.study.tables.claims import make
from tallsbi.study.tables.render import to_latex, to_markdown

FILE = ROOT / "workflow/resources/claims"
# What cannot be made undecided by few sets and seeds: no noise, or replicates of another kind (rounds, draws).
OTHER = {
    "C01",
    "C04",
    "C05",
    "C07",
    "C09",
    "C11",
    "C12",
    "C13",
    "C14",
    "C32",
    "C36",
    "C37",
    "C40",
    "C42",
    "C47",
    "C51",
}
OTHER |= {"C03", "C35", "C38", "C39", "C41"}


@pytest.fixture(scope="module", autouse=True)
def _at_root():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield


@pytest.fixture(scope="module")
def table():
    return make(WHOLE, settings(FILE))


def verdicts(table):
    return table.tidy[table.tidy.headline].set_index("id").verdict


def test_the_cells_that_claims_need_are_all_they_need(table):
    """With these and no others of the benchmark, every row of the ledger is what it is with all of them."""
    config = resolved(scale="paper", sbibm={"n_train": [1000, 30000]})
    cells = artifacts.read(ROOT, Study(config)).artifacts["claims"].cells

    def reduced(frame, variant):
        keys = zip(frame.task, frame.n_train, frame.method, strict=True)
        return frame[[Cell(*key, variant) in cells for key in keys]]

    distances = reduced(WHOLE["sbibm_distances"], "samples")
    others = reduced(WHOLE["other_bounds"], "other_bounds")
    assert len(distances) < 0.5 * len(WHOLE["sbibm_distances"])
    fewer = make({**WHOLE, "sbibm_distances": distances, "other_bounds": others}, settings(FILE))
    pd.testing.assert_frame_equal(fewer.tidy, table.tidy)


def test_every_claim_has_one_headline_and_its_variants(table):
    tidy = table.tidy
    assert tidy[tidy.headline].id.tolist() == [f"C{i:02d}" for i in range(1, 53)]
    assert set(tidy.verdict) <= set(Verdict)
    of = tidy[tidy.id == "C15"]
    assert of.variant.tolist() == ["wide prior", "stated prior"]
    assert of.headline.tolist() == [True, False]
    assert (tidy[tidy.id == "C20"].variant.nunique(), (tidy.id == "C01").sum()) == (4, 1)


def test_switches_are_turned_one_at_a_time(table):
    of = table.tidy[table.tidy.id == "C20"]
    assert of.variant.tolist() == [
        "wide prior, kept sets, widened bounds",
        "stated prior",
        "all sets",
        "true bounds",
    ]
    assert of.headline.tolist() == [True, False, False, False]


def test_the_factor_on_the_bounds_may_decide(table):
    """In the made-up data GAUSS is far off on SLCP with the true bounds, and only there."""
    found = table.tidy[table.tidy.id == "C27"].set_index("variant")
    assert found.verdict["true bounds"] == Verdict.FAILS
    assert "task = slcp" in found.reading["true bounds"]
    assert set(found.verdict.drop("true bounds")) == {Verdict.HOLDS}
    factor_one = replace(settings(FILE), fidelity={**FIDELITY, "uniform_bounds_factor": 1.0})
    turned = make(run(sets=12), factor_one).tidy
    assert turned[turned.headline & (turned.id == "C27")].variant.tolist() == ["kept sets, true bounds"]


def test_without_the_other_bounds_they_are_said_to_lack():
    data = run(sets=6)
    del data["other_bounds"]
    tidy = make(data, settings(FILE)).tidy
    row = tidy[(tidy.id == "C27") & (tidy.variant == "true bounds")].iloc[0]
    assert row.verdict == Verdict.UNDECIDED
    assert "no data with bounds = true (there is bounds = widened)" in row.reading


def test_the_other_protocol_has_the_other_headline_and_is_shown_beside(table):
    stated = {**FIDELITY, "toy_prior": "standard", "exclude_sets": False}
    other = {"other": table.tidy}
    made = make({**run(sets=6), **other}, replace(settings(FILE), fidelity=stated))
    tidy = made.tidy
    assert tidy[tidy.headline & (tidy.id == "C15")].variant.tolist() == ["stated prior"]
    assert tidy[tidy.headline & (tidy.id == "C22")].variant.tolist() == ["all sets, widened bounds"]
    beside = tidy[tidy.headline].set_index("id").other_verdict
    assert beside.to_dict() == verdicts(table).to_dict()
    assert "verdict of smoke" in made.shown
    assert len(made.widths) == made.shown.shape[1]
    assert "other_verdict" not in table.tidy


def test_what_the_data_show_is_found(table):
    found = verdicts(table)
    true = (
        "C01 C03 C04 C05 C06 C07 C09 C10 C11 C12 C13 C17 C18 C20 C21 C22 C23 C24 C27 C28 C32 C37 C40 C41 C42"
    )
    true += " C43 C44 C45 C47 C50 C51 C52"
    assert {name: str(found[name]) for name in true.split()} == dict.fromkeys(true.split(), "holds")
    # JAC is better without noise; the modes and laws are exact; GAUSS is ahead of LANGEVIN on the uniform mixture too.
    false = "C14 C15 C16 C31 C33 C34 C38 C46 C48 C49"
    assert {name: str(found[name]) for name in false.split()} == dict.fromkeys(false.split(), "does not hold")


def test_numbers_and_words_belong_together(table):
    row = table.tidy[(table.tidy.id == "C12")].iloc[0]
    assert float(row.measured) == pytest.approx(2.5, rel=0.05)
    assert row["count"] == 3 * 3 * 5
    assert row.printed == "2.5 times as fast, on a GPU"
    assert "speedup" in row.test
    assert row.data == "toy_timing"
    reading = table.tidy[table.tidy.id == "C51"].iloc[0].reading
    assert reading.startswith("12 comparisons: 12 as claimed, 0 against, 0 open; closest")
    assert "tends with n to 1/sqrt(2) of the right one" in reading
    lost = table.tidy[(table.tidy.id == "C20") & table.tidy.headline].iloc[0]
    assert "all lost" in lost.reading
    neuro = table.tidy[table.tidy.id == "C37"].iloc[0]
    assert "Run with uniform_bounds_factor = 2.0 only." in neuro.reading


@pytest.mark.parametrize("claim", ["C01", "C11", "C12", "C13", "C14", "C47"])
def test_times_name_the_hardware_they_were_measured_on(table, claim):
    reading = table.tidy[table.tidy.id == claim].iloc[0].reading
    assert f"Timed on {HARDWARE}." in reading
    assert "a GPU" in reading
    assert (table.tidy.reading.str.contains(HARDWARE)).sum() == 7  # and C10, of the mixture


WHOLE = run(sets=12)
CLAIMS = read(FILE, ROOT / SCHEMA)


def judged(name, sets=12, **tables):
    """Verdict and reading of one claim on a run some of whose tables are others."""
    claims = [claim for claim in CLAIMS if claim.id == name]
    facts = Facts("max_sw", {task: range(sets) for task in MAIN}, "widened", (), {}, {})
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
        found, reading = judged("C36", jrnmm_losses=given)
        assert (found, words in reading) == (verdict, True), reading


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


def test_two_sets_and_two_seeds_decide_nothing():
    tidy = make(run(sets=2, seeds=2), settings(FILE)).tidy
    decided = set(tidy[tidy.verdict != Verdict.UNDECIDED].id)
    assert decided <= OTHER
    row = tidy[(tidy.id == "C22") & tidy.headline].iloc[0]
    assert "2 set, 3 are needed" in row.reading
    row = tidy[(tidy.id == "C15") & tidy.headline].iloc[0]
    assert "2 seed, 3 are needed" in row.reading


def test_data_that_a_small_scale_lacks_are_named():
    data = run(sets=6)
    small = data["sbibm_distances"]
    data["sbibm_distances"] = small[(small.n <= 8) & (small.n_train == 1000)]
    data["partial"] = data["partial"].assign(n=8)
    data["jrnmm_lc2st"] = data["jrnmm_lc2st"].assign(calibration=60)
    tidy = make(data, settings(FILE)).tidy
    headlines = tidy[tidy.headline].set_index("id")
    for name, words in {
        "C21": "only one n_train (1000): no trend",
        "C23": "no data with n >= 14 (there is n = 1, 8)",
        "C29": "n_train is 1000, the test needs 30000",
        "C40": "calibration is 60, the test needs 1000",
        "C45": "no data with n >= 30",
    }.items():
        assert headlines.verdict[name] == Verdict.UNDECIDED
        assert words in headlines.reading[name]


def test_only_the_methods_that_are_compared_need_their_steps():
    """TAMED takes fewer steps here: claims about it are open, and the others are not."""
    data = run(sets=12)
    for name in ("sbibm_distances", "other_bounds"):
        frame = data[name]
        data[name] = frame.assign(steps=frame.steps.where(~frame.method.str.startswith("TAMED"), 100))
    headlines = make(data, settings(FILE)).tidy
    headlines = headlines[headlines.headline].set_index("id")
    assert headlines.verdict["C22"] == Verdict.HOLDS
    assert headlines.verdict["C43"] == Verdict.UNDECIDED
    assert "steps is 100, the test needs 400" in headlines.reading["C43"]


def test_every_number_has_its_quantity_and_units(table):
    tidy = table.tidy
    assert ((tidy.quantity == "") == (tidy.measured == "–")).all()
    assert ((tidy.units == "") == ((tidy["count"] == 0) | tidy.uncertainty.str.startswith("exact"))).all()
    headlines = tidy[tidy.headline].set_index("id")
    for name, words in {
        "C01": "time, JAC over LANGEVIN",
        "C09": "evaluations per step",
        "C11": "power of m in speed over LANGEVIN's",
        "C13": "speed over LANGEVIN's",
        "C24": "share of (set) with blown = True",
        "C28": "change of MMD² per 2.7-fold n",
        "C37": "change of squared distance to the truth (prior variances) per 2.7-fold n",
    }.items():
        assert headlines.quantity[name] == words
    (shown,) = table.shown[(table.shown.id == "C13")].measured
    assert re.fullmatch(r"[\d.]+ \(speed over LANGEVIN's\) 95 % \[.*\]", shown)


def test_every_value_of_a_claim_has_words():
    for claim in read(FILE):
        for test in single_tests(claim.test):
            key = test.where.get("quantity", test.value)
            assert test.kind in ("share", "shares") or key in NAMES, claim.id


def test_the_readable_versions_hold_every_row(table):
    text = to_markdown(table, "Claims")
    assert text.count("| C") >= len(table.tidy)
    assert "52 claims: " in text
    latex = to_latex(table, "Claims")
    assert latex.count(r"\\") == len(table.tidy) + 2
    assert r"\begin{longtable}" in latex
    assert "m^2" not in latex

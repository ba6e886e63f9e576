"""The ledger of a whole made-up run: in one the paper's story is true, in one there is next to no data."""

import re
from dataclasses import replace

import pandas as pd
import pytest
from claims_data import FIDELITY, HARDWARE, run, settings
from config_files import resolved
from paths import ROOT

from tallsbi.study import artifacts
from tallsbi.study.claims.quantities import NAMES
from tallsbi.study.claims.spec import read, single_tests
from tallsbi.study.claims.verdicts import Verdict
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.cells import Cell
from tallsbi.study.tables.claims import make
from tallsbi.study.tables.render import to_latex, to_markdown

FILE = ROOT / "workflow/resources/claims"
WHOLE = run(sets=12)
# Claims that few sets and seeds leave decided: without noise, or with replicates of another kind (rounds, draws).
DECIDED_BY_FEW = {
    *("C01", "C03", "C04", "C05", "C07", "C09", "C11", "C12", "C13", "C14", "C32", "C35", "C36", "C37"),
    *("C38", "C39", "C40", "C41", "C42", "C47", "C51"),
}


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
    rows = tidy[tidy.id == "C15"]
    assert rows.variant.tolist() == ["wide prior", "stated prior"]
    assert rows.headline.tolist() == [True, False]
    assert (tidy[tidy.id == "C20"].variant.nunique(), (tidy.id == "C01").sum()) == (4, 1)


def test_switches_are_turned_one_at_a_time(table):
    rows = table.tidy[table.tidy.id == "C20"]
    assert rows.variant.tolist() == [
        "wide prior, kept sets, widened bounds",
        "stated prior",
        "all sets",
        "true bounds",
    ]
    assert rows.headline.tolist() == [True, False, False, False]


def test_the_factor_on_the_bounds_may_decide(table):
    """In the made-up data GAUSS is far off on SLCP with the true bounds, and only there."""
    rows = table.tidy[table.tidy.id == "C27"].set_index("variant")
    assert rows.verdict["true bounds"] == Verdict.FAILS
    assert "task = slcp" in rows.reading["true bounds"]
    assert set(rows.verdict.drop("true bounds")) == {Verdict.HOLDS}
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


def test_claims_that_the_data_bear_out_hold_and_others_do_not(table):
    answers = verdicts(table)
    true = (
        "C01 C03 C04 C05 C06 C07 C09 C10 C11 C12 C13 C17 C18 C20 C21 C22 C23 C24 C27 C28 C32 C37 C40 C41 C42"
    )
    true += " C43 C44 C45 C47 C50 C51 C52"
    assert {name: str(answers[name]) for name in true.split()} == dict.fromkeys(true.split(), "holds")
    # JAC is better without noise; the modes and laws are exact; GAUSS is ahead of LANGEVIN on the uniform mixture too.
    false = "C14 C15 C16 C31 C33 C34 C38 C46 C48 C49"
    assert {name: str(answers[name]) for name in false.split()} == dict.fromkeys(
        false.split(), "does not hold"
    )


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


def test_two_sets_and_two_seeds_decide_nothing():
    tidy = make(run(sets=2, seeds=2), settings(FILE)).tidy
    decided = set(tidy[tidy.verdict != Verdict.UNDECIDED].id)
    assert decided <= DECIDED_BY_FEW
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


def test_a_run_that_is_not_finished_judges_what_it_has(table):
    """A test whose data are not made yet says so; a claim on other data has the verdict of the whole run."""
    there = {"toy_distances", "pedagogical", "theory"}
    not_made = {name: f"{name}.csv" for name in WHOLE if name not in there}
    partial = make({name: WHOLE[name] for name in there}, settings(FILE), not_made)
    rows = table.tidy.data.map(lambda data: set(data.split(", ")) <= there)
    assert rows.any()
    assert not rows.all()
    pd.testing.assert_frame_equal(partial.tidy[rows], table.tidy[rows])
    lacking = partial.tidy[~table.tidy.data.map(lambda data: bool(set(data.split(", ")) & there))]
    assert set(lacking.verdict) == {Verdict.UNDECIDED}
    assert lacking.reading.str.contains(r"\.csv not made yet").all()

"""The comparison with other packages: what is measured, that a stopped run goes on, and the tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from paths import ROOT

from benchmarks.exact_posterior import Exact
from benchmarks.peers import __main__ as program
from benchmarks.peers.bayesflow_rival import BayesFlow
from benchmarks.peers.ledger import Ledger, Row, measured
from benchmarks.peers.rival import Rival
from benchmarks.peers.run import Plan, compare, forget
from benchmarks.peers.table import BEGIN, END, put_into, tables

MEASURED = ROOT / "docs" / "peers.csv"
SMALL_PLAN = {"sizes": (2, 5), "simulations": 50, "datasets": 3, "samples": 400}


class Shifted(Rival):
    """Draws the exact posterior of `gaussian`, half a standard deviation off."""

    name, methods = "shifted", ("shifted", "wide")

    def __init__(self):
        self.trained, self.drawn = [], []

    def train(self, case, folder):
        self.trained.append(case.task.name)
        return 7.0

    def draw(self, method, case, folder, n, samples):
        if self.drawn == [("shifted", 2)] and not getattr(self, "again", True):
            raise KeyboardInterrupt
        self.drawn.append((method, n))
        exact = case.exact(n, folder)
        wide, rng = 2.0 if method == "wide" else 1.0, np.random.default_rng(0)
        white = rng.standard_normal((samples, 2))
        white = (white - white.mean(0)) / white.std(0)
        return np.stack([e.mean + e.deviation * (wide * white + 0.5) for e in exact]), 3.0

    def skipped(self, method, case, n):
        return "no reason" if (method, n) == ("wide", 5) else ""


def test_rows_say_what_the_draws_are_and_a_second_run_measures_nothing(tmp_path):
    rival, messages = Shifted(), []
    plan = Plan(tmp_path, ("gaussian",), **SMALL_PLAN)
    rows = compare(plan, [rival], messages.append).frame().set_index(["method", "n"])
    assert len(rows) == 5
    exact = rows.loc["exact posterior"]
    assert (exact.offset == 0).all()
    assert exact.coverage.between(0.5, 1).all()
    rows = rows.drop("exact posterior")
    assert any("wide, n = 5: left out, no reason" in line for line in messages)
    assert rows.offset[("shifted", 5)] == pytest.approx(0.5, abs=0.01)
    assert rows.spread[("wide", 2)] == pytest.approx(2, abs=0.02)
    assert rows.expected_z[("wide", 2)] == pytest.approx(np.sqrt(1.25) / 2, abs=0.01)
    assert (rows.train_seconds == 7).all()
    assert (rows.sample_seconds == 1).all()
    compare(plan, [rival], messages.append)
    assert rival.trained == ["gaussian"]
    assert len(rival.drawn) == 3


def test_an_interrupted_run_goes_on_with_the_same_network(tmp_path):
    plan, rival = Plan(tmp_path, ("gaussian",), **SMALL_PLAN), Shifted()
    rival.again = False
    with pytest.raises(KeyboardInterrupt):
        compare(plan, [rival], print)
    assert len(Ledger(tmp_path / "peers.csv").frame()) == 1
    rival.again = True
    assert len(compare(plan, [rival], print).frame()) == 5
    assert rival.trained == ["gaussian"]
    assert rival.drawn == [("shifted", 2), ("wide", 2), ("shifted", 5)]


def test_other_numbers_of_simulations_are_other_rows(tmp_path):
    rival = Shifted()
    compare(Plan(tmp_path, ("gaussian",), **SMALL_PLAN), [rival], print)
    rows = compare(Plan(tmp_path, ("gaussian",), **SMALL_PLAN | {"simulations": 60}), [rival], print).frame()
    assert sorted(rows.simulations) == [50] * 5 + [60] * 5
    assert rival.trained == ["gaussian"] * 2


def test_what_is_forgotten_is_trained_and_measured_again(tmp_path):
    plan, rival = Plan(tmp_path, ("gaussian",), rows=tmp_path / "rows.csv", **SMALL_PLAN), Shifted()
    compare(plan, [rival], print)
    plan.ledger.add(replace(Row(**plan.ledger.frame().iloc[0]), method="another"))
    forget(plan, [rival])
    assert set(plan.ledger.frame().method) == {"another", "exact posterior"}
    assert len(compare(plan, [rival], print).frame()) == 6
    assert rival.trained == ["gaussian"] * 2


def test_tables_are_put_between_the_marks(tmp_path):
    page, rows = tmp_path / "page.md", pd.read_csv(MEASURED, dtype={"note": str}).fillna({"note": ""})
    page.write_text(f"above {BEGIN} old {END} below")
    put_into(page, rows)
    text = page.read_text()
    assert text.startswith("above ")
    assert text.endswith(" below")
    assert "old" not in text
    assert tables(rows) in text
    with pytest.raises(ValueError, match="marks"):
        put_into(MEASURED, rows)


def test_the_page_shows_what_was_measured():
    rows = Ledger(MEASURED).frame()
    assert tables(rows) in (MEASURED.parent / "peers.md").read_text()


def test_coverage_and_strays():
    draws = np.random.default_rng(0).standard_normal((3, 5000, 1))
    exact = [Exact(np.zeros(1), np.ones(1), 1.0)] * 3
    truth = np.array([[0.0], [1.6], [1.7]])
    whole = measured(draws, truth, exact)
    assert whole["coverage"] == pytest.approx(2 / 3)
    assert whole["strays"] == 0
    draws[2, :500] = np.nan
    broken = measured(draws, truth, exact)
    assert broken["coverage"] == 1
    assert broken["strays"] == pytest.approx(0.1 / 3)
    assert np.isnan(measured(np.full((1, 9, 1), np.inf), np.zeros((1, 1)), exact[:1])["offset"])


def test_tables_keep_the_order_of_methods_and_sort_by_n():
    row = {"simulations": 1, "datasets": 1, "coverage": 0.9, "strays": 0.0, "train_seconds": 60.2}
    cells = [("b", 30), ("b", 1), ("a", 10)]
    rows = [
        Row(problem="p", method=m, n=n, offset=0.123, spread=1, expected_z=1234, sample_seconds=0.5, **row)
        for m, n in cells
    ]
    text = tables(pd.DataFrame([vars(row) for row in rows])).splitlines()
    assert text[0] == "p:"
    assert [line.split(" | ")[:2] for line in text[4:]] == [["| b", "1"], ["| b", "30"], ["| a", "10"]]
    assert "| 0.12 | 1.00 | 1.23e+03 | 0.90 | 60 | 0.5 |" in text[4]


def test_bayesflow_that_is_not_there_is_said_and_left_out(tmp_path):
    messages = []
    rival = BayesFlow(tmp_path / "python")
    compare(Plan(tmp_path, ("gaussian",), **SMALL_PLAN), [rival], messages.append)
    assert messages == [
        f"BayesFlow is left out: there is no {tmp_path / 'python'}; `make bayesflow` installs it"
    ]


def test_bayesflow_that_cannot_be_imported_says_why(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'keras'\" >&2\nexit 1\n")
    python.chmod(0o755)
    assert "No module named 'keras'" in BayesFlow(python).missing()


def test_nle_is_measured_from_the_command_line(tmp_path, capsys):
    torch.manual_seed(0)
    words = [
        *("--problem", "gaussian", "--network", "NLE", "--simulations", "60"),
        *("--datasets", "2", "--sizes", "1", "--samples", "50"),
    ]
    assert program.main([*words, "--folder", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    assert "| NLE | 1 |" in table
    assert program.main(["table", "--folder", str(tmp_path)]) == 0
    assert "| NLE | 1 |" in capsys.readouterr().out


def test_a_logarithm_is_taken_of_positive_data_only(tmp_path):
    case = Plan(tmp_path, ("gaussian",), **SMALL_PLAN).case("lotka_volterra")
    theta, x = case.pairs
    torch.testing.assert_close(x.exp(), case.task.simulations(50)[1])
    torch.testing.assert_close(case.data.exp(), case.raw_data)
    # The latent prior is what the parameters are drawn from.
    assert theta.shape[1:] == case.prior.mean.shape
    z = (theta - case.prior.mean) / case.prior.stddev
    assert float(z.mean(0).abs().max()) < 0.7

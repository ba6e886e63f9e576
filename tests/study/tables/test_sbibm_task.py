"""The task tables: both averages, the best, the printed numbers, and what is lost."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from paths import RESOURCES
from table_data import SETTINGS, concat, frame

from tallsbi.study.tables import sbibm_task
from tallsbi.study.tables.render import to_latex, to_markdown

PAPER = pd.read_csv(RESOURCES / "sbibm_tables.csv")
GAUSS = np.append(np.linspace(0.3, 0.5, 24), 2.0)
LANGEVIN = np.where(np.arange(25) == 4, np.nan, 0.9)


def make(metrics, task="slcp", **settings):
    return sbibm_task.make({"metrics": metrics, "paper": PAPER}, replace(SETTINGS, **settings), task=task)


@pytest.fixture
def metrics():
    return concat(
        frame(GAUSS + 5, n_train=3000, n=14),
        frame(GAUSS, n=14),
        frame(LANGEVIN, n=14, method="LANGEVIN-clip", steps=400),
        frame(GAUSS[::-1], n=22),
        frame(GAUSS, n=14, task="gmm"),
    )


def row(table, **where):
    rows = table.tidy
    for column, value in where.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1
    return rows.iloc[0]


def test_mean_and_std_over_all_and_over_the_kept_sets(metrics):
    table = make(metrics)
    # The cell at n = 22 is not shown but is judged: its worst set is 0, that of n = 14 is 24.
    line = row(table, metric="sw", method="GAUSS")
    assert line.excluded_sets == "0 24"
    assert line.mean_all == pytest.approx(GAUSS.mean())
    assert line.std_all == pytest.approx(GAUSS.std(ddof=1))
    assert line.mean_kept == pytest.approx(GAUSS[1:24].mean())
    assert (line.sets_all, line.sets_kept, line.n_train, line.n) == (25, 23, 30000, 14)
    assert row(table, metric="mmd", method="GAUSS").mean_kept == pytest.approx(0.1 * GAUSS[1:24].mean())
    assert row(table, metric="c2st", method="GAUSS").mean_all == pytest.approx(0.5 + 0.5 * GAUSS.mean())
    assert "the 23 sets left" in table.note
    assert "number 1, 25, counted from 1" in table.note


def test_lost_sets_are_counted_listed_and_never_best(metrics):
    table = make(
        metrics.assign(sw=np.where(metrics.method == "LANGEVIN-clip", 0.01 * metrics.sw, metrics.sw))
    )
    line = row(table, metric="sw", method="LANGEVIN-clip")
    assert (line.lost_all, line.lost_sets, line.nonfinite_from_t) == (1, "4", 0.4)
    assert line.mean_all == pytest.approx(0.009)
    assert not line.best_all
    assert row(table, metric="sw", method="GAUSS").best_all
    shown = table.shown.set_index("method")
    assert shown.loc["LANGEVIN-clip (400)", "lost"] == "1 of 25"
    assert shown.loc["LANGEVIN-clip (400)", "sW"].endswith("(24 of 25)")
    assert shown.loc["LANGEVIN-clip (400)", "sW, kept"].endswith("(22 of 23)")
    assert shown.loc["GAUSS (1000)", "sW"].endswith(" *")


@pytest.mark.parametrize("count", [1, 3, 5, 25])
def test_a_blown_up_method_has_no_star(count):
    """5.7e+61 ± 9.9e+61 is within two standard errors of anything."""
    tamed = frame(np.append(GAUSS[: count - 1], 1.7e62), n=14, method="TAMED", steps=400)
    # Bounded metrics look good on draws that are this wide.
    data = concat(frame(GAUSS[:count], n=14), tamed.assign(mmd=-0.01, c2st=0.5))
    shown = make(data).shown.set_index("method")
    columns = [name for name in shown if name in ("sW", "MMD²", "C2ST")]
    assert all("*" in shown.loc["GAUSS (1000)", name] for name in columns)
    assert not any("*" in shown.loc["TAMED (400)", name] for name in columns)


def test_a_cell_without_a_finite_distance_says_so(metrics):
    lost = metrics.assign(sw=metrics.sw.where(metrics.method == "GAUSS"))
    assert make(lost).shown.set_index("method").loc["LANGEVIN-clip (400)", "sW"] == "lost"


def test_metric_that_is_invalid_everywhere_is_said_so(metrics):
    shown = make(metrics.assign(c2st_valid=False)).shown.set_index("method")
    assert (shown["C2ST"] == "invalid").all()


def test_printed_numbers_stand_beside_ours(metrics):
    table = make(metrics)
    line = row(table, metric="sw", method="GAUSS")
    assert (line.paper_mean, line.paper_std, line.paper_best, line.paper_worst) == (0.37, 0.11, True, False)
    shown = table.shown.set_index("method")
    assert shown.loc["GAUSS (1000)", "sW, paper"] == "0.37 ± 0.11 *"
    assert shown.loc["LANGEVIN-clip (400)", "C2ST, paper"] == "0.92 ± 0.06"
    renamed = make(metrics.replace({"method": {"GAUSS": "NEW"}})).shown.set_index("method")
    assert renamed.loc["NEW (1000)", "sW, paper"] == "–"


def test_printed_numbers_keep_their_decimals():
    assert sbibm_task.as_printed(0.01, 0.007) == "0.01 ± 0.007"
    assert sbibm_task.as_printed(0.2, 0.23) == "0.20 ± 0.23"
    assert sbibm_task.as_printed(1.0, 0.0) == "1.00 ± 0.00"
    assert sbibm_task.as_printed(np.nan, np.nan) == "–"


def test_small_distances_keep_two_digits(metrics):
    shown = make(metrics.assign(sw=0.003 * metrics.sw)).shown.set_index("method")
    assert shown.loc["GAUSS (1000)", "sW"] == "0.0014 ± 0.0010 *"


def test_without_an_n_of_the_table_the_largest_stands_in(metrics):
    assert set(make(metrics, table_n_obs=(1, 30)).tidy.n) == {22}
    small = concat(frame([0.1, 0.2]), frame([0.2, 0.3], n=8), frame([0.4, 0.3], n=4))
    assert set(make(small).tidy.n) == {1, 8}


def test_void_rule_leaves_out_the_columns_of_the_kept_sets():
    small = concat(frame([0.1, 0.2, 0.3]), frame([0.3, 0.2, 0.1], n=14))
    table = make(small)
    assert not [name for name in table.shown if "kept" in name]
    assert "is not applied" in table.note


def test_references_in_doubt_are_named(metrics):
    assert "without a passing certificate" not in make(metrics).note
    doubtful = metrics.assign(reference_passed=~metrics.set.isin([1, 2]))
    assert "without a passing certificate: 2 at n = 14" in make(doubtful).note


def test_unknown_task_is_refused(metrics):
    with pytest.raises(ValueError, match=r"task = 'two_moons': no distances.*add it"):
        make(metrics, task="two_moons")


def test_it_renders_as_markdown(metrics):
    table = make(metrics)
    assert to_markdown(table, "SLCP").count("\n|") == 2 + len(table.shown)


def test_it_renders_as_latex(metrics):
    assert r"GAUSS (1000) & 0 of 25 & 0.0\% & 0.46 $\pm$ 0.33 *" in to_latex(make(metrics), "SLCP")


def test_resource_holds_the_printed_tables():
    assert PAPER.groupby(["task", "metric", "n"]).size().tolist() == [3] * 27
    assert set(PAPER.task) == {"slcp", "lotka_volterra", "sir"}
    best = PAPER[PAPER.best == 1].set_index(["task", "metric", "n"])
    assert best.loc[[("sir", "c2st", 30)], "method"].tolist() == ["JAC-clip"]
    assert best.loc[[("sir", "sw", 14)], "method"].tolist() == ["GAUSS", "JAC-clip"]
    # What is set in bold has the smallest printed mean of its cell, and red the largest.
    for _, cell in PAPER.groupby(["task", "metric", "n"]):
        assert (cell[cell.best == 1]["mean"] == cell["mean"].min()).all()
        assert (cell[cell.worst == 1]["mean"] == cell["mean"].max()).all()

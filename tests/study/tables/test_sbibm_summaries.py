"""The tables metric_summary and reference_certificates."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from paths import RESOURCES
from settings import silent
from table_data import SETTINGS, concat, frame

from tallsbi.study.columns.sbibm import CERTIFICATES
from tallsbi.study.references.certificate import NUMBERS
from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.references.tidy import certificate_table
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tables import metric_summary, reference_certificates
from tallsbi.study.tasks import load

PAPER = pd.read_csv(RESOURCES / "metric_summary.csv")
BASE = np.linspace(0.3, 0.6, 25)


def summary(metrics, **settings):
    return metric_summary.make({"metrics": metrics, "paper": PAPER}, replace(SETTINGS, **settings))


def shown(table, task="SLCP", metric="sW"):
    rows = table.shown[(table.shown.task == task) & (table.shown.metric == metric)]
    return rows.iloc[0]


def test_scores_are_means_over_the_n_above_one_at_the_largest_n_train():
    metrics = concat(
        frame(BASE, n=8),
        frame(BASE + 0.2, n=30),
        frame(BASE + 0.15, n=8, method="JAC-clip", steps=400),
        frame(BASE + 0.15, n=30, method="JAC-clip", steps=400),
        frame(BASE + 9, n=1),
        frame(BASE, n=1, method="JAC-clip", steps=400),
        frame(BASE + 9, n=8, n_train=1000),
    )
    table = summary(metrics)
    assert shown(table)["best, all sets"] == "GAUSS"
    assert shown(table)["paper"] == "GAUSS, JAC-clip"
    line = table.tidy[(table.tidy.metric == "sw") & (table.tidy.method == "JAC-clip")].iloc[0]
    assert line.difference_all == pytest.approx(np.log1p(0.05 / (BASE + 0.1)).mean())
    assert line.mean_all == pytest.approx(BASE.mean() + 0.15)
    assert (line.n, line.n_train, line.paper_best) == ("8 30", 30000, True)


def test_ties_are_shown_as_ties_with_the_best_first():
    wobble = 0.01 * (-1.0) ** np.arange(25)
    metrics = concat(
        frame(BASE + wobble + 0.001, n=8),
        frame(BASE, n=8, method="JAC-clip", steps=400),
        frame(BASE + 0.1, n=8, method="LANGEVIN", steps=400),
    )
    assert shown(summary(metrics))["best, all sets"] == "JAC-clip = GAUSS"


def test_kept_sets_can_have_another_winner():
    spoiled = np.where(np.arange(25) == 7, 9.0, BASE)
    metrics = concat(frame(spoiled, n=8), frame(BASE + 0.05, n=8, method="JAC-clip", steps=400))
    row = shown(summary(metrics))
    assert row["best, all sets"] == "JAC-clip"
    assert row["best, kept sets"] == "GAUSS"


def test_a_lost_method_is_out_and_named():
    lost = np.where(np.arange(25) == 3, np.nan, 0.01)
    metrics = concat(
        frame(BASE, n=8, method="JAC", steps=400), frame(lost, n=8, method="LANGEVIN", steps=400)
    )
    table = summary(metrics)
    assert shown(table)["best, all sets"] == "JAC"
    assert "Out on some task: LANGEVIN (the CSV" in table.note
    assert (
        shown(summary(frame([np.nan, np.nan], n=8)))["best, all sets"]
        == "none: all lost, blown up or invalid"
    )


def test_a_blown_up_method_is_out_for_every_metric_and_named():
    metrics = concat(frame(BASE, n=8), frame(0.9 * BASE, n=8, method="TAMED", steps=400))
    blown_up = (metrics.method == "TAMED") & (metrics.set == 3)
    metrics = metrics.assign(sw=metrics.sw.mask(blown_up, 5.7e61))
    table = summary(metrics)
    assert [shown(table, metric=metric)["best, all sets"] for metric in ("sW", "MMD²", "C2ST")] == [
        "GAUSS"
    ] * 3
    assert "Out on some task: TAMED (the CSV" in table.note


def test_one_method_with_several_numbers_of_steps_is_told_apart():
    metrics = concat(frame(BASE, n=8), frame(BASE + 0.1, n=8, steps=50))
    assert shown(summary(metrics))["best, all sets"] == "GAUSS (1000)"


def test_tasks_come_in_order_and_a_single_n_is_refused():
    metrics = concat(*(frame(BASE, n=8, task=task) for task in ("gmm", "sir", "slcp")))
    assert summary(metrics).shown.task.tolist() == ["SLCP", "SIR", "GMM"] * 3
    assert shown(summary(metrics), task="GMM")["paper"] == "–"
    with pytest.raises(ValueError, match="at least one n above 1"):
        summary(frame(BASE, n=1))


def certificates():
    nuts = {
        "set": [0, 1, 2, 0, 1, 2],
        "n": [30, 30, 30, 1, 1, 1],
        "rhat": [1.001, 1.0304, 1.002, 1.0, 1.0, np.nan],
        "ess_bulk": [4000.2, 900, 3000, 2000, 2100, 2200],
        "ess_tail": [1500, 1400, 1300, 1600, 1700, 1800],
        "divergences": [0, 3, 2, 0, 0, 0],
        "passed": [True, False, True, True, True, False],
    }
    grid = {"set": [0, 1], "n": 1, "passed": True, "border": [1e-12, 3e-9]}
    parts = [
        pd.DataFrame({**NUMBERS, "checks": "", "failed": "", "task": task, "method": method, **values})
        for task, method, values in (("sir", "grid", grid), ("slcp", "NUTS", nuts))
    ]
    return CERTIFICATES.check(pd.concat(parts, ignore_index=True))


def test_the_border_mass_of_a_grid_reaches_the_table():
    """From a reference posterior as the study makes it to the cell a reader sees."""
    task = load("two_moons")
    x = task.observe(task.theta_star(25)[:2].astype(float), 1, lambda b: np.random.default_rng([5, b]))
    chains = ChainSettings(
        chains=4, warmup=10, draws=10, target_accept=0.9, max_rhat=1.01, min_ess=1, retries=0
    )
    posterior = reference_posterior(task, x, 1, 20, chains, 1, silent)
    data = certificate_table([("two_moons", 1, posterior)])
    shown = reference_certificates.make({"certificates": data}, SETTINGS).shown
    assert 0 < data.border.max() < 1e-6
    assert shown["largest border mass"].tolist() == [f"{posterior.border.values.max():.0e}"]


def test_certificates_show_the_worst_set_of_each_task_and_n():
    table = reference_certificates.make({"certificates": certificates()}, SETTINGS)
    assert table.shown[["task", "n"]].to_numpy().tolist() == [["SLCP", 1], ["SLCP", 30], ["SIR", 1]]
    tall = table.shown.iloc[1]
    assert tall["worst R-hat"] == "1.0304"
    assert tall["smallest bulk ESS"] == "900"
    assert tall["smallest tail ESS"] == "1300"
    assert tall["divergences"] == "5"
    assert tall["sets passed"] == "2 of 3"
    assert tall["failed sets"] == "2"
    grid = table.shown.iloc[2]
    assert (grid["worst R-hat"], grid["largest border mass"], grid["failed sets"]) == ("–", "3e-09", "–")
    assert "2 of 8 references did not pass" in table.note


def test_a_diagnostic_without_a_value_is_not_passed_over():
    table = reference_certificates.make({"certificates": certificates()}, SETTINGS)
    assert table.shown.iloc[0]["worst R-hat"] == "1.0000 (1 NaN)"


def test_the_csv_has_every_set():
    data = certificates()
    table = reference_certificates.make({"certificates": data}, SETTINGS)
    assert len(table.tidy) == len(data)
    assert set(table.tidy.columns) == set(data.columns)
    assert table.tidy[["task", "n", "set"]].iloc[0].tolist() == ["slcp", 1, 0]
    passed = reference_certificates.make({"certificates": data.assign(passed=True)}, SETTINGS)
    assert "All of them passed" in passed.note

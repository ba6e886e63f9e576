"""Printed cells beside ours: which agree, which do not, and which a run cannot tell."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from paths import RESOURCES
from table_data import SETTINGS, concat, frame

from tallsbi.study.settings.artifacts import PrintedTables, TableCell, ToyTables
from tallsbi.study.tables import printed_cells

TOY = ToyTables("gaussian-wide", TableCell(10, 32, 0.01), "max_sw_norm", 100, 2, 100)
CHOICE = PrintedTables(
    TOY, replace(TOY, problem="mixture"), replace(SETTINGS, tasks=("slcp",), table_n_obs=(1, 14))
)
PRINTED = pd.DataFrame(
    {
        "task": "slcp",
        "metric": ["sw", "mmd", "c2st", "sw", "sw"],
        "n": [1, 1, 1, 14, 30],
        "method": "GAUSS",
        "mean": [0.31, 0.02, 0.70, 0.37, 0.40],
        "std": [0.10, 0.01, 0.08, 0.10, 0.13],
        "best": 0,
        "worst": 0,
    }
)


def toy(values, method="GAUSS", problem="gaussian-wide", noise=0.01):
    columns = {"problem": problem, "m": 10, "n": 32, "noise": noise, "method": method, "steps": 50}
    return pd.DataFrame({**columns, "sw": 9.0, "max_sw": values})


def cells(distances, steps):
    paper = pd.DataFrame(
        {
            "method": ["GAUSS", "JAC", "LANGEVIN"],
            "steps": 50,
            "sw": [0.17, 3.14, np.nan],
            "sw_std": [0.08, 4.12, np.nan],
        }
    )
    data = {
        "metrics": distances,
        "paper_sbibm": PRINTED,
        "steps": steps,
        "paper_gaussian": paper,
        "paper_mixture": paper,
    }
    table = printed_cells.make(data, CHOICE)
    assert len(table.shown) == len(table.tidy) == 2 * 3 + len(PRINTED)
    return table


@pytest.fixture
def table():
    distances = concat(frame([0.5] * 6), frame([0.9] * 6, n=14)).assign(c2st_valid=False)
    steps = pd.concat(
        [toy([0.30, 0.34]), toy([np.nan, 1.0], "JAC"), toy([np.nan, 1.0], "LANGEVIN"), toy([9.0], noise=0)]
    )
    return cells(distances, steps)


def verdict(made, /, **where):
    rows = made.tidy
    for column, value in where.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1
    return rows.verdict.iloc[0]


def test_two_of_the_printed_deviations_decide(table):
    assert verdict(table, table="SLCP", metric="sW", n=1) == "agrees"  # 0.50 against 0.31 ± 0.10
    assert verdict(table, table="SLCP", metric="sW", n=14) == "larger here"
    assert verdict(table, table="SLCP", metric="MMD²") == "larger here"  # 0.05 against 0.02 ± 0.01
    assert verdict(table, table="Gaussian toy", method="GAUSS") == "agrees"  # 0.32 against 0.17 ± 0.08
    row = table.tidy[(table.tidy.table == "SLCP") & (table.tidy.n == 14)].iloc[0]
    assert row.deviations == pytest.approx(5.3)


def test_better_than_in_print_is_no_agreement():
    distances = frame([0.05] * 6)
    assert verdict(cells(distances, toy([0.0])), table="SLCP", metric="sW", n=1) == "smaller here"


def test_rounding_of_print_is_no_disagreement():
    """0.31 ± 0.10 may be 0.314 ± 0.10."""
    assert verdict(cells(frame([0.514] * 6), toy([0.0])), table="SLCP", metric="sW", n=1) == "agrees"
    assert verdict(cells(frame([0.516] * 6), toy([0.0])), table="SLCP", metric="sW", n=1) == "larger here"


def test_what_is_lost_invalid_or_absent_says_so(table):
    assert verdict(table, table="Gaussian toy", method="JAC") == "lost here"
    assert verdict(table, table="Gaussian toy", method="LANGEVIN") == "agrees"  # nan in print too
    assert verdict(table, table="SLCP", metric="C2ST") == "invalid here"
    assert verdict(table, table="SLCP", metric="sW", n=30) == "not in this run"
    assert verdict(table, table="Mixture toy", method="GAUSS") == "not in this run"
    assert "3 of 6 cells agree (Gaussian toy 2 of 3, SLCP 1 of 3)" in table.note
    assert "4 printed cells are not in this run, and in 1 no" in table.note


def test_a_lost_run_is_not_an_invalid_comparison():
    assert verdict(cells(frame([np.nan] * 6), toy([0.0])), table="SLCP", metric="C2ST") == "lost here"


def test_every_cell_of_the_resources_is_there():
    data = {
        "metrics": frame([0.3] * 6),
        "steps": toy([0.2]),
        "paper_sbibm": pd.read_csv(RESOURCES / "sbibm_tables.csv"),
        "paper_gaussian": pd.read_csv(RESOURCES / "toy_gaussian_sw_time.csv"),
        "paper_mixture": pd.read_csv(RESOURCES / "toy_gmm_sw_time.csv"),
    }
    tidy = printed_cells.make(data, CHOICE).tidy
    assert tidy.table.value_counts().to_dict() == {"Gaussian toy": 12, "Mixture toy": 12, "SLCP": 27}

"""Rendering of tables, and the tables of the toy study."""

import numpy as np
import pandas as pd
import pytest
from paths import RESOURCES

from tallsbi.study.settings.artifacts import TableCell, ToyTables
from tallsbi.study.tables import render, toy_speedup, toy_sw_time


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.17, 2, "0.17"),
        (0.0, 2, "0.00"),
        (-0.25, 1, "-0.2"),
        (0.004, 2, "4.0e-03"),
        (0.004, 3, "0.004"),
        (999.994, 2, "999.99"),
        (12345.0, 2, "1.2e+04"),
        (np.nan, 2, "–"),
    ],
)
def test_numbers_have_fixed_digits_or_an_exponent(value, digits, text):
    assert render.number(value, digits) == text


def test_spread_and_printed_numbers():
    assert render.spread(0.171, 0.08) == "0.17 ± 0.08"
    assert render.spread(0.171, np.nan) == "0.17"
    assert render.spread(np.nan, 0.1) == "lost"
    assert render.printed(np.nan, np.nan, known=True) == "nan"
    assert render.printed(np.nan, np.nan, known=False) == "–"
    assert render.printed(1.5, 0.25, known=True) == "1.50 ± 0.25"


def test_one_lost_value_leaves_no_mean():
    assert render.mean_std(pd.Series([1.0, 2.0, 6.0])) == (3.0, pytest.approx(np.sqrt(7)))
    assert np.isnan(render.mean_std(pd.Series([1.0, np.nan]))).all()
    mean, std = render.mean_std(pd.Series([1.0]))
    assert mean == 1.0
    assert np.isnan(std)


SHOWN = pd.DataFrame({"method": ["DET_GEF", "A & B"], "sW": ["0.10 ± 0.01", "–"], "share": ["5 %", "#1"]})
TABLE = render.Table(SHOWN, SHOWN, "below 1 % of 100_000")


def test_markdown_shows_the_cells_as_they_are():
    markdown = render.to_markdown(TABLE, "Title").splitlines()
    assert markdown[0] == "# Title"
    assert [cell.strip() for cell in markdown[4].strip("|").split("|")] == ["DET_GEF", "0.10 ± 0.01", "5 %"]
    assert markdown[-1] == "below 1 % of 100_000"


def test_latex_escapes_what_is_special():
    latex = render.to_latex(TABLE, "Title_1")
    assert r"DET\_GEF & 0.10 $\pm$ 0.01 & 5 \% \\" in latex
    assert r"A \& B & -- & \#1 \\" in latex
    assert r"\begin{tabular}{lrr}" in latex
    assert r"\caption{Title\_1. below 1 \% of 100\_000}" in latex


SETTINGS = ToyTables(
    problem="gaussian-wide",
    cell=TableCell(dim=10, n_obs=32, noise=0.01),
    metric="max_sw_norm",
    samples=1000,
    repeats=2,
    timing_samples=100,
)


def steps_rows(method, values, steps=50, **where):
    row = {"problem": "gaussian-wide", "m": 10, "n": 32, "noise": 0.01, **where}
    return pd.DataFrame({"seed": range(len(values)), "sw": values}).assign(
        method=method, steps=steps, max_sw=lambda frame: 2 * frame.sw, **row
    )


def timing_rows(method, seconds, steps=50, m=10, n=32):
    return pd.DataFrame({"seconds": seconds}).assign(
        problem="gaussian-wide", m=m, n=n, steps=steps, method=method, hardware=f"card {m}"
    )


@pytest.fixture
def sw_time():
    data = {
        "steps": pd.concat(
            [
                steps_rows("GAUSS", [0.1, 0.2, 0.3]),
                steps_rows("LANGEVIN", [0.5, np.nan, 0.7]),
                steps_rows("GAUSS", [0.4, 0.4, 0.4], steps=70),
                steps_rows("GAUSS", [9.0, 9.0, 9.0], noise=0.1),
                steps_rows("GAUSS", [9.0, 9.0, 9.0], m=2),
                steps_rows("GAUSS", [9.0, 9.0, 9.0], problem="mixture"),
            ]
        ),
        "timing": pd.concat(
            [timing_rows("GAUSS", [1.0, 3.0, 2.0]), timing_rows("GAUSS", [50.0], m=2)], ignore_index=True
        ),
        "paper": pd.read_csv(RESOURCES / "toy_gaussian_sw_time.csv"),
    }
    return toy_sw_time.make(data, SETTINGS)


def test_time_table_is_that_of_its_cell(sw_time):
    tidy = sw_time.tidy.set_index(["method", "steps"])
    gauss = tidy.loc[("GAUSS", 50)]
    assert gauss.sw == pytest.approx(0.2)
    assert gauss.sw_std == pytest.approx(0.1)
    assert gauss.max_sw == pytest.approx(0.4)
    assert gauss.seconds == 2.0
    assert (gauss.seconds_paper, gauss.max_sw_paper, gauss.max_sw_paper_std) == (0.45, 0.17, 0.08)
    assert set(tidy.index) == {("GAUSS", 50), ("LANGEVIN", 50), ("GAUSS", 70)}


def test_time_table_shows_divergence_and_missing_numbers(sw_time):
    shown = sw_time.shown.set_index(["method", "T"])
    assert shown.loc[("LANGEVIN", 50), "sW"] == "lost"
    assert shown.loc[("LANGEVIN", 50), "paper max-sW"] == "nan"
    assert shown.loc[("LANGEVIN", 50), "time (s)"] == "–"
    assert shown.loc[("GAUSS", 70), "paper max-sW"] == "–"
    assert shown.loc[("GAUSS", 50), "time (s)"] == "2.00 ± 1.00"
    assert sw_time.tidy.set_index("method").loc["LANGEVIN", "lost"] == 1
    assert "on card 10; GAUSS with its covariances" in sw_time.note


def test_speedup_is_the_mean_ratio_of_medians_over_the_cells():
    timing = pd.concat(
        [
            timing_rows("LANGEVIN", [2.0, 4.0, 100.0]),
            timing_rows("GAUSS", [1.0, 2.0, 2.0]),
            timing_rows("LANGEVIN", [10.0], steps=150),
            timing_rows("GAUSS", [3.0], steps=150),
            timing_rows("LANGEVIN", [1.0], m=3),
            timing_rows("GAUSS", [2.0], m=3),
        ],
        ignore_index=True,
    )
    data = {"timing": timing, "paper": pd.read_csv(RESOURCES / "toy_speedup.csv")}
    table = toy_speedup.make(data, SETTINGS)
    ten = table.tidy[table.tidy.m == 10]
    assert ten.ratio.tolist() == pytest.approx([0.4] * len(ten))
    assert ten.ratio_std.iloc[0] == pytest.approx(np.std([0.5, 0.3], ddof=1))
    assert ten.paper.tolist() == [0.38, 0.37]
    assert ten.cells.tolist() == [2, 2]
    shown = table.shown.set_index("m")
    assert shown.loc[10, "GAUSS (paper)"] == "0.38 / 0.37"
    assert shown.loc[3, "GAUSS"] == "2.00"
    assert shown.loc[3, "GAUSS (paper)"] == "–"
    assert "LANGEVIN" not in shown.columns
    assert "on card 10 and card 3; GAUSS with its covariances" in table.note

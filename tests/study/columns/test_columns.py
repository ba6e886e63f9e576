"""Columns are a contract: an unknown, missing or ill-typed column raises, for writers and readers alike."""

import numpy as np
import pandas as pd
import pytest

from tallsbi.storage.files import write_csv
from tallsbi.study.columns import jrnmm, run, sbibm, toy
from tallsbi.study.columns.catalogue import table_of
from tallsbi.study.columns.tidy import ColumnsError, table

TABLE = table("part/things", "task:text n:int sw passed:bool")
ROW = {"task": "slcp", "n": 1, "sw": np.nan, "passed": True}


def test_rows_become_a_frame_in_the_order_of_the_table():
    frame = TABLE.frame([dict(reversed(ROW.items()))])
    assert list(frame) == list(TABLE.kinds)
    assert TABLE.frame([("slcp", 1, 0.5, False)]).sw.tolist() == [0.5]


def test_an_unknown_column_is_named_with_what_there_is_and_a_remedy():
    with pytest.raises(ColumnsError, match=r"part/things: unknown column border_mass.*There are task.*Rerun"):
        TABLE.frame([{**ROW, "border_mass": 0.1}])


def test_a_missing_column_is_named():
    with pytest.raises(ColumnsError, match="missing column n; missing column passed"):
        TABLE.check(pd.DataFrame([{"task": "slcp", "sw": 0.1}]))


@pytest.mark.parametrize(
    ("column", "value"), [("task", 3), ("n", 1.5), ("n", np.nan), ("sw", "far"), ("sw", True), ("passed", 1)]
)
def test_a_column_of_another_kind_is_named(column, value):
    with pytest.raises(ColumnsError, match=f"column {column} is not of kind"):
        TABLE.frame([{**ROW, column: value}])


def test_texts_and_numbers_may_be_missing():
    assert len(TABLE.frame([ROW, {**ROW, "task": None}])) == 2


def test_an_empty_table_has_its_columns():
    assert list(TABLE.frame([])) == list(TABLE.kinds)


def test_a_reader_finds_the_table_by_the_path(tmp_path):
    path = tmp_path / "results/smoke/sbibm/truth.csv"
    write_csv(pd.DataFrame({"parameter": ["theta_1"], "value": [0.1], "task": ["slcp"]}), path)
    assert table_of(path).read(path).task.tolist() == ["slcp"]
    write_csv(pd.DataFrame({"parameter": ["theta_1"], "truth": [0.1], "task": ["slcp"]}), path)
    with pytest.raises(ColumnsError, match=r"sbibm/truth\.csv.*unknown column truth; missing column value"):
        table_of(path).read(path)
    assert table_of("results/smoke/costs.csv").name == "costs"


def test_a_path_without_a_table_is_refused():
    with pytest.raises(
        ColumnsError, match=r"toy/nothing\.csv: no tidy table has this path; there are distances"
    ):
        table_of("results/smoke/toy/nothing.csv")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ColumnsError, match="no kind whole; there are float, int, bool, text"):
        table("part/things", "task:text n:whole")


@pytest.mark.parametrize("described", [*toy.TABLES, *sbibm.TABLES, *jrnmm.TABLES, *run.TABLES])
def test_every_table_is_found_by_its_path(described):
    assert table_of(f"results/smoke/{described.name}.csv") is described

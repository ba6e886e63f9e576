"""Text, JSON and tables come back as they were, and are named where they are damaged."""

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallsbi.storage import files
from tallsbi.storage.files import DataError

# Text and JSON


def test_text_keeps_line_endings_and_letters(tmp_path):
    files.write_text("ü\nx\r\n", tmp_path / "t.txt")
    assert (tmp_path / "t.txt").read_bytes() == b"\xc3\xbc\nx\r\n"


def test_json_is_sorted_and_plain(tmp_path):
    value = {"b": np.float64(0.1), "a": np.arange(2), "c": Path("x/y"), "d": None}
    files.write_json(value, tmp_path / "v.json")
    text = (tmp_path / "v.json").read_text()
    assert text.index('"a"') < text.index('"b"')
    assert text.endswith("}\n")
    assert files.read_json(tmp_path / "v.json") == {"a": [0, 1], "b": 0.1, "c": "x/y", "d": None}


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float64("nan")])
def test_json_refuses_what_is_not_a_number(tmp_path, value):
    with pytest.raises(ValueError, match=r"v\.json.*None"):
        files.write_json({"a": value}, tmp_path / "v.json")
    assert os.listdir(tmp_path) == []


def test_json_refuses_objects(tmp_path):
    with pytest.raises(TypeError, match="no JSON form"):
        files.write_json({"a": {1, 2}}, tmp_path / "v.json")


def test_damaged_json_is_named(tmp_path):
    (tmp_path / "v.json").write_text('{"a": ')
    with pytest.raises(DataError, match=r"v\.json.*delete it and rerun"):
        files.read_json(tmp_path / "v.json")


# Tables


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(allow_nan=True), st.integers(-(2**62), 2**62)), min_size=1, max_size=8))
def test_numbers_come_back_exactly(tmp_path, rows):
    frame = pd.DataFrame(rows, columns=["z", "a"])
    files.write_csv(frame, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(files.read_csv(tmp_path / "t.csv"), frame, check_exact=True)


def test_words_come_back_as_words(tmp_path):
    frame = pd.DataFrame(
        {"name": ["NA", "None", 'a "quoted", one', "two\nlines"], "flag": [True, False, True, True]}
    )
    files.write_csv(frame, tmp_path / "t.csv")
    back = files.read_csv(tmp_path / "t.csv")
    assert back["name"].tolist() == frame["name"].tolist()
    assert back["flag"].dtype == bool
    assert b"\r" not in (tmp_path / "t.csv").read_bytes()


def test_table_without_rows_keeps_its_columns(tmp_path):
    files.write_csv(pd.DataFrame({"b": [], "a": []}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "b,a\n"
    assert files.read_csv(tmp_path / "t.csv").columns.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\x89HDF\r\n\x1a\n\x00\x00\x00\xff\xfe",
        b"\x00\x00\n",
        b"a,b\n1,2\n3\n",
        b"a,b\n1,2,3\n4,5,6\n",
        b"a,b\n1,2\n3,4",
        b'a,b\n1,"2\n',
    ],
    ids=["empty", "blank", "binary", "zeros", "short line", "long lines", "no last newline", "open quote"],
)
def test_damaged_table_is_named(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"t\.csv.*delete it and rerun"):
        files.read_csv(path)


def test_every_truncation_of_a_table_within_a_line_is_seen(tmp_path):
    path = tmp_path / "t.csv"
    files.write_csv(pd.DataFrame({"a": [1.25, 2.5], "b": ["x", "y"]}), path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        if whole[:length].endswith(b"\n"):
            continue
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            files.read_csv(path)


@pytest.mark.parametrize("read", [files.read_dataset, files.read_csv, files.read_json])
def test_missing_file_is_not_called_damaged(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="missing"):
        read(tmp_path / "missing")

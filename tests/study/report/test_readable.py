"""The readable table is read back from Markdown as it was written."""

import pandas as pd
import pytest

from tallsbi.storage.files import DataError
from tallsbi.study.report import readable
from tallsbi.study.tables.render import Table, to_markdown


def write(path, shown, note="A note.\n\nOf two parts."):
    path.write_text(to_markdown(Table(shown, shown, note), "Title"), encoding="utf-8")
    return path


def test_round_trip(tmp_path):
    shown = pd.DataFrame({"method": ["p(a | b)", "x"], "n": [1, 20], "paper sW": ["0.1 ± 0.2", "–"]})
    table = readable.read(write(tmp_path / "t.md", shown))
    assert table.title == "Title"
    assert table.columns == ("method", "n", "paper sW")
    assert table.rows == (("p(a | b)", "1", "0.1 ± 0.2"), ("x", "20", "–"))
    assert table.note == "A note.\n\nOf two parts."


def test_row_of_another_length_is_an_error_with_its_line(tmp_path):
    path = write(tmp_path / "t.md", pd.DataFrame({"a": ["1"], "b": ["2"]}))
    path.write_text(path.read_text().replace("| 1 ", "| 1 | 3 "), encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.md, line 5: 3 cells, the header has 2"):
        readable.read(path)


def test_file_without_table_is_an_error(tmp_path):
    path = tmp_path / "t.md"
    path.write_text("# Title\n\nNothing.\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.md has no title or no table"):
        readable.read(path)


@pytest.mark.parametrize(
    ("column", "printed"),
    [("paper sW", True), ("GAUSS (paper)", True), ("printed", True), ("paperless", False), ("sW", False)],
)
def test_columns_of_the_paper(column, printed):
    assert readable.is_printed(column) is printed

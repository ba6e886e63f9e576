"""Reads the readable form of a table back from its Markdown file: title, columns, rows, note.

The Markdown is what `tallsbi.study.tables.render` writes: a title, one table, a note. It has rounded numbers with their
spread and the paper's numbers beside them; the CSV has every column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tallsbi.storage.files import DataError

_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class ReadableTable:
    """A table as its Markdown shows it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


def read(path: Path) -> ReadableTable:
    """The table of a Markdown file of the study."""
    lines = path.read_text(encoding="utf-8").splitlines()
    table_lines = [number for number, line in enumerate(lines) if line.startswith("|")]
    if len(table_lines) < 2 or not lines[0].startswith("# "):
        raise DataError(f"{path} has no title or no table: delete it and rerun")
    header, _, *body = (cells(lines[number]) for number in table_lines)
    for number, row in zip(table_lines[2:], body, strict=True):
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {number + 1}: {len(row)} cells, the header has {len(header)}: "
                "write a bar inside a cell as \\|"
            )
    note = "\n".join(lines[table_lines[-1] + 1 :]).strip()
    return ReadableTable(lines[0].removeprefix("# ").strip(), header, tuple(body), note)


def cells(line: str) -> tuple[str, ...]:
    """The cells of one line of a Markdown table."""
    inner = line.strip().removeprefix("|")
    pieces = _BAR.split(inner)
    # The last piece is what stands behind the closing bar: nothing.
    return tuple(piece.strip().replace("\\|", "|") for piece in pieces[:-1])


def is_printed(column: str) -> bool:
    """Whether a column holds numbers of the paper."""
    return bool(re.search(r"\b(paper|printed)\b", column, re.IGNORECASE))

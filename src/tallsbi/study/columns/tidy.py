"""A tidy table: the names and kinds of its columns, and the checks of writers and readers.

The kinds are float, int, text and bool. Only floats and texts may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from tallsbi.storage.files import read_csv

# By kind, the test of whether the values of a column are of it.
_FITS: dict[str, Callable[[pd.Series], bool]] = {
    "float": lambda values: types.is_numeric_dtype(values) and not types.is_bool_dtype(values),
    "int": types.is_integer_dtype,
    "bool": types.is_bool_dtype,
    "text": lambda values: all(isinstance(value, str) or pd.isna(value) for value in values.unique()),
}


class ColumnsError(ValueError):
    """A frame does not have the columns of its table."""


@dataclass(frozen=True)
class TidyTable:
    """`name`: the path of the file in a run, without suffix. `kinds`: those of all columns, in the file's order."""

    name: str
    kinds: Mapping[str, str]

    def renamed(self, name: str, more: str = "") -> TidyTable:
        """Another table with the same columns, and `more`."""
        return TidyTable(name, {**self.kinds, **_parsed(more)})

    def frame(self, rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
        """The table of a writer's rows: mappings by column, or sequences in the order of the columns."""
        rows = list(rows)
        names = None if rows and isinstance(rows[0], Mapping) else list(self.kinds)
        return self.check(pd.DataFrame(rows, columns=names))

    def read(self, path: str | Path) -> pd.DataFrame:
        """The file of a reader."""
        return self.check(read_csv(path), str(path))

    def check(self, frame: pd.DataFrame, source: str = "") -> pd.DataFrame:
        """The frame with its columns in order; `ColumnsError` where columns are unknown, missing or of another kind."""
        problems = [f"unknown column {column}" for column in frame if column not in self.kinds]
        for column, kind in self.kinds.items():
            if column not in frame:
                problems.append(f"missing column {column}")
            elif len(frame) and not _FITS[kind](frame[column]):
                problems.append(f"column {column} is not of kind {kind}")
        if problems:
            place = f"{source} (table {self.name})" if source else f"table {self.name}"
            raise ColumnsError(
                f"{place}: {'; '.join(problems)}. There are {', '.join(map(str, frame.columns))}; expected "
                f"{', '.join(self.kinds)}. Rerun the rule that writes the file, or correct the writer or the table in "
                "tallsbi.study.columns."
            )
        return frame[list(self.kinds)]


def table(name: str, columns: str) -> TidyTable:
    """A table from its columns, written as `task:text n:int sw`; a column without a kind is float."""
    return TidyTable(name, _parsed(columns))


def _parsed(columns: str) -> dict[str, str]:
    kinds = {name: kind or "float" for name, _, kind in (column.partition(":") for column in columns.split())}
    unknown = sorted(set(kinds.values()) - set(_FITS))
    if unknown:
        raise ColumnsError(f"{columns!r}: no kind {', '.join(unknown)}; there are {', '.join(_FITS)}")
    return kinds

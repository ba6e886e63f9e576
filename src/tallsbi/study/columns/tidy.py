"""A tidy table: the names and kinds of its columns, and the checks of writers and readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from tallsbi.storage.files import read_csv


class ColumnsError(ValueError):
    """A frame does not have the columns of its table."""


class Kind(StrEnum):
    """What a column holds. Only numbers and texts may be missing."""

    TEXT = "text"
    WHOLE = "whole numbers"
    NUMBER = "numbers"
    FLAG = "true or false"

    def fits(self, values: pd.Series) -> bool:
        if self is Kind.TEXT:
            return types.is_string_dtype(values.dtype) or bool(values.map(_is_text).all())
        if self is Kind.FLAG:
            return types.is_bool_dtype(values.dtype)
        if self is Kind.WHOLE:
            return types.is_integer_dtype(values.dtype)
        return types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype)


TEXT, WHOLE, NUMBER, FLAG = Kind


@dataclass(frozen=True)
class TidyTable:
    """`name`: the path of the file in a run, without suffix. `kinds`: every column in the order of the file."""

    name: str
    kinds: Mapping[str, Kind]

    def frame(self, rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
        """The table of a writer's rows: mappings by column, or sequences in the order of the columns."""
        rows = list(rows)
        if rows and isinstance(rows[0], Mapping):
            return self.check(pd.DataFrame(rows))
        return self.check(pd.DataFrame(rows, columns=list(self.kinds)))

    def read(self, path: str | Path) -> pd.DataFrame:
        """The file of a reader."""
        return self.check(read_csv(path), str(path))

    def check(self, frame: pd.DataFrame, source: str = "") -> pd.DataFrame:
        """The frame with its columns in order; `ColumnsError` where columns are unknown, missing or of another kind."""
        unknown = [str(column) for column in frame if column not in self.kinds]
        missing = [column for column in self.kinds if column not in frame]
        wrong = [
            f"column {column} does not hold {kind}"
            for column, kind in self.kinds.items()
            if column in frame and len(frame) and not kind.fits(frame[column])
        ]
        problems = [
            *([f"unknown column {', '.join(unknown)}"] if unknown else []),
            *([f"missing column {', '.join(missing)}"] if missing else []),
            *wrong,
        ]
        if problems:
            place = f"{source} (table {self.name})" if source else f"table {self.name}"
            raise ColumnsError(
                f"{place}: {'; '.join(problems)}. There are {', '.join(map(str, frame.columns))}; expected "
                f"{', '.join(self.kinds)}. Rerun the rule that writes the file, or correct the writer or the table in "
                "tallsbi.study.columns."
            )
        return frame[list(self.kinds)]


def _is_text(value: object) -> bool:
    return isinstance(value, str) or bool(pd.isna(value))

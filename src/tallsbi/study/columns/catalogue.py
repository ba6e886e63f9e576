"""All tidy tables, by the path of their file in a run: for readers of several files, and for the collecting rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.study.columns import jrnmm, run, sbibm, toy
from tallsbi.study.columns.tidy import ColumnsError, TidyTable

if TYPE_CHECKING:
    import pandas as pd

TABLES = {table.name: table for table in (*toy.TABLES, *sbibm.TABLES, *jrnmm.TABLES, *run.TABLES)}


def table_of(path: str | Path) -> TidyTable:
    """The table that a path of a run ends with: `results/smoke/toy/distances.csv` is that of `toy/distances`."""
    *_, folder, stem = ("", *Path(path).with_suffix("").parts)
    try:
        return TABLES.get(f"{folder}/{stem}") or TABLES[stem]
    except KeyError:
        raise ColumnsError(
            f"{path}: no tidy table has this path; there are {', '.join(TABLES)}. Describe it in "
            "tallsbi.study.columns."
        ) from None


def read_tidy(path: str | Path) -> pd.DataFrame:
    """The checked table in a collected file."""
    return table_of(path).read(path)

"""The certificates of all reference posteriors as a tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from tallsbi.study.columns.sbibm import CERTIFICATES
from tallsbi.study.references.certificate import unpack

if TYPE_CHECKING:
    import xarray as xr


def certificate_table(references: Iterable[tuple[str, int, xr.Dataset]]) -> pd.DataFrame:
    """A row per task, n and set, from (task, n, dataset of references)."""
    return CERTIFICATES.frame(
        {"task": task, "set": int(index), "n": n, **_counted(unpack(data.sel(set=index)).as_row())}
        for task, n, data in references
        for index in data["set"].values
    )


def _counted(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its counts as whole numbers: a check keeps a count, such as that of divergences, as any value."""
    return {name: int(value) if CERTIFICATES.kinds[name] == "int" else value for name, value in row.items()}

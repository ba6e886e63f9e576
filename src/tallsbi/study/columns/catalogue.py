"""The tidy table of a file, by its path in a run.

Modules are imported by name, so that whatever reads a file depends only on the columns of its part: a new column of one
part reruns nothing of another.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.study.columns.tidy import ColumnsError

if TYPE_CHECKING:
    from tallsbi.study.columns.tidy import TidyTable

# The folder of a tidy file in a run, and the module of its part.
MODULES = {"toy": "toy", "sbibm": "sbibm", "jrnmm": "jrnmm", "claims": "run"}


def module_of(path: str | Path) -> str | None:
    """The module that describes the columns of a file; None for files that are no tidy tables of a run."""
    part = "run" if Path(path).stem == "costs" else MODULES.get(Path(path).parent.name)
    return f"{__package__}.{part}" if part else None


def table_of(path: str | Path) -> TidyTable:
    """The table that a path of a run ends with: `results/smoke/toy/distances.csv` is that of `toy/distances`."""
    module = module_of(path)
    tables = {Path(table.name).name: table for table in import_module(module).TABLES} if module else {}
    if Path(path).stem not in tables:
        known = f"there are {', '.join(tables)}" if tables else f"its folder is none of {', '.join(MODULES)}"
        raise ColumnsError(
            f"{path}: no tidy table has this path; {known}. Describe it in tallsbi.study.columns."
        )
    return tables[Path(path).stem]

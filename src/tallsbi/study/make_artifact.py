"""Calls the function that makes a table or figure, with data and settings that are checked first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from tallsbi.storage.files import read_csv
from tallsbi.study.settings.base import Settings

if TYPE_CHECKING:
    import pandas as pd

# The folder of a tidy file in a run, and the module of `tallsbi.study.columns` that describes it.
COLUMNS = {"toy": "toy", "sbibm": "sbibm", "jrnmm": "jrnmm", "claims": "run"}


def make(function: str, paths: Iterable[tuple[str, str]], values: Mapping[str, Any]) -> Any:
    """`function` as workflow/artifacts.yaml names it; `values`: its `settings` and `arguments` as plain data."""
    module, _, name = function.rpartition(".")
    call = getattr(import_module(f"tallsbi.study.{module}"), name)
    data = {key: read(path) for key, path in paths}
    settings: type[Settings] = get_type_hints(call)["settings"]
    return call(data, settings.from_params(values["settings"]), **values["arguments"])


def columns_module(path: str) -> str | None:
    """The module that describes a file's columns; None for tables, and for numbers of the paper."""
    folder, stem = Path(path).parent.name, Path(path).stem
    part = "run" if stem == "costs" else COLUMNS.get(folder)
    return f"tallsbi.study.columns.{part}" if part else None


def read(path: str) -> pd.DataFrame:
    """A file of the run or of workflow/resources; a tidy one must have the columns of its table."""
    module = columns_module(path)
    if module is None:
        return read_csv(path)
    # Only the columns of this part are imported, so that a new one reruns nothing of another part.
    tables = {Path(table.name).name: table for table in import_module(module).TABLES}
    return tables[Path(path).stem].read(path)

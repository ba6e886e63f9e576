"""Calls the function that makes a table or figure, with data and settings that are checked first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from tallsbi.storage.files import read_csv
from tallsbi.study.columns.catalogue import module_of, table_of
from tallsbi.study.settings.base import Settings

if TYPE_CHECKING:
    import pandas as pd


def make(function: str, paths: Iterable[tuple[str, str]], values: Mapping[str, Any]) -> Any:
    """`function` as workflow/artifacts.yaml names it; `values`: its `settings` and `arguments` as plain data."""
    module, _, name = function.rpartition(".")
    call = getattr(import_module(f"tallsbi.study.{module}"), name)
    data = {key: read(path) for key, path in paths}
    settings: type[Settings] = get_type_hints(call)["settings"]
    return call(data, settings.from_params(values["settings"]), **values["arguments"])


def read(path: str) -> pd.DataFrame:
    """A file of the run or of workflow/resources; a tidy one must have the columns of its table."""
    return table_of(path).read(path) if module_of(path) else read_csv(path)

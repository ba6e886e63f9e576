"""The record of a report page: what `gather` was told and the facts it found, so that the gallery can be made later.

The facts are stored because a later look would find another commit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallsbi.storage.files import DataError, read_json, write_json
from tallsbi.study.report.gather import Origin, Sources, gather
from tallsbi.study.report.page import Page

NAME = "report/run.json"


@dataclass(frozen=True)
class Record:
    """What a page was made from."""

    figures: Mapping[str, Origin]
    tables: Mapping[str, Origin]
    config: Mapping[str, Any]
    versions: Mapping[str, str]

    def gather(self, sources: Sources) -> Page:
        return gather(sources, self.figures, self.tables, self.config, self.versions)


def write(record: Record, page: Page, run: Path, path: Path) -> None:
    """Writes the record; the files behind figures and tables are named as seen from the run."""

    def origins(made: Mapping[str, Origin]) -> dict[str, Any]:
        return {
            name: {
                "module": origin.module,
                "data": {
                    key: Path(os.path.relpath(file, run)).as_posix() for key, file in origin.data.items()
                },
            }
            for name, origin in made.items()
        }

    content = {
        "figures": origins(record.figures),
        "tables": origins(record.tables),
        "config": record.config,
        "versions": dict(record.versions),
        "facts": [list(fact) for fact in page.facts],
    }
    write_json(content, path)


def read(root: Path, run: Path) -> Page:
    """The page of a finished run once more, with the facts of the time it was made."""
    path = run / NAME
    if not path.is_file():
        raise DataError(
            f"no file {path}: finish the run first (make report, with the same SCALE and PROTOCOL)"
        )
    content = read_json(path)

    def origins(made: Mapping[str, Any]) -> dict[str, Origin]:
        return {
            name: Origin(
                each["module"], {key: str((run / file).resolve()) for key, file in each["data"].items()}
            )
            for name, each in made.items()
        }

    record = Record(
        origins(content["figures"]), origins(content["tables"]), content["config"], content["versions"]
    )
    page = record.gather(Sources(root=root, run=run, page=run / "report" / "index.html"))
    return replace(page, facts=tuple((name, value) for name, value in content["facts"]))

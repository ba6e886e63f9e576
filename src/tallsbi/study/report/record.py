"""The record of a page: what it was made from, so that a finished run can make it again.

The gallery reads it, long after the run and without Snakemake.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallsbi.storage.files import DataError, read_json, write_json
from tallsbi.study.settings.base import Settings

RECORD_PATH = "report/run.json"
PageFacts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class MadeArtifact(Settings):
    """A table or figure of the run: its place on the page, the module that made it, and its data by name."""

    id: str
    kind: str
    part: str
    title: str
    paper: str
    module: str
    data: dict[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.data.values())))


@dataclass(frozen=True)
class PartText(Settings):
    """A part of the page: its title, and what it is about."""

    id: str
    title: str
    about: str


@dataclass(frozen=True)
class RunRecord(Settings):
    """What a page is made from. `config` is the whole configuration, which the page prints."""

    parts: tuple[PartText, ...]
    made: tuple[MadeArtifact, ...]
    config: dict[str, Any]
    versions: dict[str, str]

    def with_paths(self, change: Callable[[str], str]) -> RunRecord:
        """With other paths of the data: `change` of each."""
        made = [
            replace(artifact, data={key: change(path) for key, path in artifact.data.items()})
            for artifact in self.made
        ]
        return replace(self, made=tuple(made))


def write(record: RunRecord, facts: PageFacts, run: Path, path: Path) -> None:
    """Writes the record and the facts of the page; paths of data are relative to the run."""
    relative = record.with_paths(lambda file: Path(os.path.relpath(file, run)).as_posix())
    write_json({**relative.as_params(), "facts": [list(fact) for fact in facts]}, path)


def read(run: Path) -> tuple[RunRecord, PageFacts]:
    """The record of a finished run, and the facts of the time its page was made."""
    path = run / RECORD_PATH
    if not path.is_file():
        raise DataError(
            f"no file {path}: finish the run first (make report, with the same SCALE and PROTOCOL)"
        )
    content = read_json(path)
    facts = tuple((name, value) for name, value in content.pop("facts"))
    record = RunRecord.from_params(content)
    return record.with_paths(lambda file: str((run / file).resolve())), facts

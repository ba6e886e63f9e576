"""The checksums of a run's results, to compare a copy, or a second run, with the first.

A study gives the same bytes on any number of cores and in any order of jobs, except where it measures times. The
study names those files by patterns (`timed`): they must exist but are not compared. Logs, records and
checkpoints do not count as results.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from tallsbi.runner.options import Run
from tallsbi.storage import files

FILE_NAME = "manifest.json"
_OTHER_NAMES = {"logs", "records", "checkpoints", "snakemake-report.zip"}


@dataclass(frozen=True)
class Difference:
    """How a run differs from its manifest, as sorted paths."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    extra: tuple[str, ...]

    def by_kind(self) -> dict[str, tuple[str, ...]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def is_timed(path: str, timed: Sequence[str]) -> bool:
    """Whether a result, by its path below results/<run>/, holds measured times."""
    return any(PurePosixPath(path).match(pattern) for pattern in timed)


def results_of(folder: Path) -> list[str]:
    """The paths of all results below results/<run>/, sorted."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in paths
        if path.as_posix() != FILE_NAME
        and not path.name.startswith(".")
        and not _OTHER_NAMES & set(path.parts)
    )


def describe(folder: Path, timed: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For every result its checksum, its code fingerprint (if it has one), and whether it holds times."""
    return {
        path: {
            "sha256": _sha256(folder / path),
            "code": _code(folder / path),
            "timed": is_timed(path, timed),
        }
        for path in results_of(folder)
    }


def compare(folder: Path, expected: Mapping[str, Mapping[str, Any]]) -> Difference:
    """The results against a manifest; a file with times only has to exist."""
    present = set(results_of(folder))
    changed = (
        path
        for path in sorted(present & expected.keys())
        if not expected[path]["timed"] and _sha256(folder / path) != expected[path]["sha256"]
    )
    missing, extra = sorted(expected.keys() - present), sorted(present - expected.keys())
    return Difference(tuple(missing), tuple(changed), tuple(extra))


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _code(path: Path) -> str | None:
    record = files.sidecar_path(path)
    if record.exists():
        return files.read_json(record).get("code_fingerprint")
    return files.read_attributes(path).get("code_fingerprint") if path.suffix == ".nc" else None


def verify(run: Run, timed: Sequence[str]) -> int:
    """Compares the results with the manifest, or writes it if there is none; returns the exit code."""
    return (_check if (run.root / run.folder / FILE_NAME).exists() else _write)(run, timed)


def _write(run: Run, timed: Sequence[str]) -> int:
    entries = describe(run.root / run.folder, timed)
    if not entries:
        print(f"{run.folder} has no results yet: run `make results` first", file=sys.stderr)
        return 1
    files.write_json({"files": entries}, run.root / run.folder / FILE_NAME)
    count = sum(entry["timed"] for entry in entries.values())
    print(
        f"{run.folder / FILE_NAME}: {len(entries)} files, {count} of them with times, which are not compared"
    )
    return 0


def _check(run: Run, timed: Sequence[str]) -> int:
    name = run.folder / FILE_NAME
    expected = files.read_json(run.root / name)["files"]
    differences = compare(run.root / run.folder, expected).by_kind()
    for kind, paths in differences.items():
        for path in paths:
            print(f"{kind:<8} {run.folder / path}")
    count = sum(entry["timed"] for entry in expected.values())
    counts = ", ".join(f"{len(paths)} {kind}" for kind, paths in differences.items())
    print(f"{len(expected)} files of {name}: {counts}; {count} with times, not compared")
    is_different = any(differences.values())
    if is_different:
        print(f"If the changes are meant, delete {name} and write it anew with `make verify`.")
    return int(is_different)

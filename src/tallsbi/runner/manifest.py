"""The checksums of a run's results, to compare a copy, or a second run, with the first.

    python -m tallsbi.runner.manifest write|check|verify [--scale NAME] [--protocol NAME] [--config 'KEY=VALUE ...']

`write` puts results/<run>/manifest.json beside the results; `check` says what is missing, changed or extra
compared with it and ends with code 1 if anything is; `verify` checks if there is a manifest, else writes one.

The study gives the same bytes on any number of cores and in any order of jobs, except where it measures times:
those files, listed in `TIMED`, and what is made from them, must be there but are not compared. Logs, records
and checkpoints are no results.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tallsbi.runner.launch import options, run_of
from tallsbi.storage import files

NAME = "manifest.json"
# Every result that holds measured seconds or bytes, or is made from them; below results/<run>/. What stands in
# the records beside the tables (*.meta.json) is a checksum of such a table.
TIMED = (
    "toy/timing/*/*",
    "toy/timing.*",
    "sbibm/*/steps.*",
    "sbibm/steps.*",
    "sbibm/*/many.*",
    "sbibm/many.*",
    "tables/toy_gaussian_sw_time.*",
    "tables/toy_gmm_sw_time.*",
    "tables/toy_speedup.*",
    "figures/steps_vs_accuracy.*",
    "figures/many_observations.*",
    "costs.*",
    "tables/cost.*",
    "tables/claims.*",
    "report/*",
)
_NO_RESULTS = {"logs", "records", "checkpoints", "snakemake-report.zip"}


@dataclass(frozen=True)
class Difference:
    """What a check has found, as sorted paths."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    extra: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.changed or self.extra)


def is_timed(path: str) -> bool:
    """Whether a result, by its path below results/<run>/, holds measured times."""
    return any(PurePosixPath(path).match(pattern) for pattern in TIMED)


def results_of(run: Path) -> list[str]:
    """The paths of all results below results/<run>/, sorted."""
    found = (path.relative_to(run) for path in run.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in found
        if path.as_posix() != NAME and not path.name.startswith(".") and not _NO_RESULTS & set(path.parts)
    )


def describe(run: Path) -> dict[str, dict[str, Any]]:
    """Checksum, code fingerprint (where the file or the record beside it has one) and kind of every result."""
    return {
        path: {"sha256": _sha256(run / path), "code": _code(run / path), "timed": is_timed(path)}
        for path in results_of(run)
    }


def compare(run: Path, expected: Mapping[str, Mapping[str, Any]]) -> Difference:
    """The run against a manifest; of files with times only that they are there."""
    there = set(results_of(run))
    common = sorted(there & expected.keys())
    return Difference(
        missing=tuple(sorted(expected.keys() - there)),
        changed=tuple(
            path
            for path in common
            if not expected[path]["timed"] and _sha256(run / path) != expected[path]["sha256"]
        ),
        extra=tuple(sorted(there - expected.keys())),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _code(path: Path) -> str | None:
    record = files.sidecar_path(path)
    if record.exists():
        return files.read_json(record).get("code_fingerprint")
    if path.suffix == ".nc":
        return files.read_attributes(path).get("code_fingerprint")
    return None


def write(run: Path, shown: Path) -> int:
    entries = describe(run)
    if not entries:
        print(f"{shown} has no results yet: run `make results` first", file=sys.stderr)
        return 1
    files.write_json({"files": entries}, run / NAME)
    timed = sum(entry["timed"] for entry in entries.values())
    print(f"{shown / NAME}: {len(entries)} files, {timed} of them with times, which are not compared")
    return 0


def check(run: Path, shown: Path) -> int:
    path = run / NAME
    if not path.exists():
        print(f"no {shown / NAME} to check against: write one with `make verify`", file=sys.stderr)
        return 1
    expected = files.read_json(path)["files"]
    found = compare(run, expected)
    for kind in ("missing", "changed", "extra"):
        for name in getattr(found, kind):
            print(f"{kind:<8} {shown / name}")
    timed = sum(entry["timed"] for entry in expected.values())
    counts = ", ".join(f"{len(getattr(found, kind))} {kind}" for kind in ("missing", "changed", "extra"))
    print(f"{len(expected)} files of {shown / NAME}: {counts}; {timed} with times, not compared")
    if found:
        print(f"If the changes are meant, delete {shown / NAME} and write it anew with `make verify`.")
    return 1 if found else 0


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument(
        "action", choices=["write", "check", "verify"], help="verify: check, or write the first"
    )
    given, root = parser.parse_args(arguments), root or Path.cwd()
    shown = Path("results") / run_of(given, root)
    run = root / shown
    action = given.action
    if action == "verify":
        action = "check" if (run / NAME).exists() else "write"
    try:
        return {"write": write, "check": check}[action](run, shown)
    except files.DataError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

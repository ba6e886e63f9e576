"""The tidy data of a run: what is published of it with the repository, and how to read it.

Published is what tables, figures and page are made from, with its records: `make redraw` makes them again. Samples,
networks and what lies between are not.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.storage.files import DataError, atomic_path, read_csv
from tallsbi.study.report.record import RECORD_PATH, RunRecord

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "results/published"
_REPOSITORY = Path(__file__).parents[4]
# Below a run: what is collected over all tasks. Deeper down are the parts that were collected.
_TIDY = ("*.csv", "*/*.csv")


def publish(record: RunRecord, run: Path, target: Path) -> list[Path]:
    """Copies what is published of a run to a folder, in place of what was there; returns the copies."""
    copies = {path: target / path.relative_to(run) for path in _published_files(record, run)}
    if target.exists():
        shutil.rmtree(target)
    for source, copy in copies.items():
        with atomic_path(copy) as temporary:
            shutil.copyfile(source, temporary)
    return list(copies.values())


def _published_files(record: RunRecord, run: Path) -> Iterator[Path]:
    """The data of tables and figures, the tables, their records, and what every job took."""
    data = {Path(file) for artifact in record.made for file in artifact.files}
    data = {path for path in data if path.is_relative_to(run)} | set(run.glob("tables/*"))
    for path in sorted(data):
        yield path
        records = (path.with_name(f"{path.name}.meta.json"), _origin(path, run))
        yield from (beside for beside in records if beside.is_file() and beside not in data)
    yield run / RECORD_PATH
    yield from sorted(run.glob("records/**/*.tsv"))


def _origin(path: Path, run: Path) -> Path:
    return run / "records" / path.relative_to(run).with_name(f"{path.name}.origin.json")


def read_results(run: str, root: Path | None = None) -> dict[str, pd.DataFrame]:
    """See `tallsbi.study.results`."""
    folder = (root or _REPOSITORY) / "results" / run
    paths = sorted(path for pattern in _TIDY for path in folder.glob(pattern))
    if not paths:
        runs = sorted(path.parent.name for path in folder.parent.glob("*/tables"))
        raise DataError(
            f"no results in {folder}: the runs of this checkout are {', '.join(runs) or 'none'}; `make results` makes "
            "one, and an installed package has none."
        )
    return {path.relative_to(folder).with_suffix("").as_posix(): read_csv(path) for path in paths}

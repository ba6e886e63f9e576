"""Where a finished run has put its tables, figures and reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tallsbi.runner.options import Run

REPORTS = ("report/index.html", "snakemake-report.zip")  # our page, and the one Snakemake makes


def artifacts(folder: Path) -> set[str]:
    """The names of a folder's tables or figures: each has files in several formats, with a record beside them."""
    files = folder.iterdir() if folder.is_dir() else ()
    return {path.name.split(".")[0] for path in files if path.is_file() and not path.name.startswith(".")}


def describe(run: Run, verdicts: Callable[[Path], str] = lambda folder: "") -> list[str]:
    """One line for each kind of output that exists; one line if there is none, since a run may be asked for a part."""
    rows = []
    for kind in ("tables", "figures"):
        count = len(artifacts(run.root / run.folder / kind))
        if count:
            noun = kind if count > 1 else kind[:-1]
            rows.append((kind.capitalize(), str(run.folder / kind), f"({count} {noun})"))
    reports = [run.folder / name for name in REPORTS]
    rows += [("Report", str(path), "") for path in reports if (run.root / path).is_file()]
    if not rows:
        return [f"Results  {run.folder}   (no tables or figures yet: they come without ARGS)"]
    if claims := verdicts(run.root / run.folder):
        rows.append(("Claims", claims, ""))
    width = max(len(place) for _, place, _ in rows)
    return [f"{title:<8} {place:<{width}}   {note}".rstrip() for title, place, note in rows]

"""What the runner must be told about this study: its stages, and the results that hold times."""

import csv
from collections import Counter
from pathlib import Path

from tallsbi.runner.command import Project
from tallsbi.study.artifacts import timed_outputs

# Rules that make tables, figures and the page from tidy data.
DRAWING = ("draw_", "make_")
# Every figure and every table has a rule of its own; a table of costs shows them as one stage.
STAGES = {"draw_": "draw figures", "make_": "make tables", "collect_": "collect"}

# Files below results/<run>/ that hold measured seconds or bytes, or (*.meta.json) a checksum of such a file.
# workflow/artifacts.yaml says which tables and figures hold them.
TIMED = (
    "toy/timing/*/*",
    "toy/timing.*",
    "sbibm/*/steps.*",
    "sbibm/steps.*",
    "sbibm/*/many.*",
    "sbibm/many.*",
    "costs.*",
    "report/*",
)


def verdicts(folder: Path) -> str:
    """How many claims hold in a run, and how many do not; nothing if it has no ledger."""
    ledger = folder / "tables/claims.csv"
    if not ledger.is_file():
        return ""
    with ledger.open(encoding="utf-8", newline="") as rows:
        # A claim with variants has several rows, one of which is its headline.
        counts = Counter(
            row.get("verdict", "?") for row in csv.DictReader(rows) if row.get("headline", "True") == "True"
        )
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def project(root: Path) -> Project:
    """The study in a repository."""
    return Project(stages=STAGES, timed=(*TIMED, *timed_outputs(root)), drawing=DRAWING, verdicts=verdicts)

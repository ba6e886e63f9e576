"""What did not work in a run: samples that are not finite, references that did not pass their checks.

Found in the tidy data that figures and tables are drawn from: every file with a column `finite_share` counts.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tallsbi.study.report.page import Diverged, Uncertified

# The columns that say which run a row belongs to; the rest are its results.
CELL = (
    "problem",
    "task",
    "dim",
    "m",
    "noise",
    "n_train",
    "n",
    "set",
    "seed",
    "method",
    "steps",
    "n_max",
    "encoder",
)
PROBLEM = ("problem", "task", "dim")


def diverged(tidy: Mapping[str, pd.DataFrame]) -> tuple[Diverged, ...]:
    """Per study, problem and method with at least one such run; `tidy`: frames by the name of their file."""
    rows = []
    for study, frame in tidy.items():
        if not {"method", "finite_share"} <= set(frame.columns):
            continue
        cells = _cells(frame)
        for (problem, method), part in cells.groupby([_problem(cells), "method"], sort=False):
            lost = part[part.finite_share < 1]
            if len(lost):
                rows.append(Diverged(study, problem, method, len(lost), len(part), _listed(lost)))
    return tuple(rows)


def uncertified(tidy: Mapping[str, pd.DataFrame]) -> tuple[Uncertified, ...]:
    """Per study and problem with at least one reference that did not pass."""
    rows = []
    for study, frame in tidy.items():
        column = next((name for name in ("reference_passed", "passed") if name in frame), None)
        if column is None:
            continue
        own = [name for name in ("problem", "task", "m", "n", "set", "seed") if name in frame]
        references = frame.drop_duplicates(own)
        for problem, part in references.groupby(_problem(references), sort=False):
            failed = part[~part[column].astype(bool)]
            if len(failed):
                rows.append(Uncertified(study, problem, len(failed), len(part), _listed(failed)))
    return tuple(rows)


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per run: some files have several, one per parameter or classifier."""
    return frame.drop_duplicates([name for name in CELL if name in frame])


def _problem(frame: pd.DataFrame) -> pd.Series:
    found = next((name for name in PROBLEM if name in frame), None)
    if found is None:
        return pd.Series("", frame.index)
    return frame[found].map(lambda value: f"{value}-D" if found == "dim" else str(value)).rename("problem")


def _listed(part: pd.DataFrame) -> str:
    return ", ".join(str(n) for n in sorted(part.n.unique())) if "n" in part else ""

"""What did not work in a run: lost draws, references that did not pass their checks.

Counted in the tidy data behind figures and tables: in every file that has a column for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from tallsbi.metrics.validity import is_lost
from tallsbi.study.report.page import Rows

# The columns that tell problems, references and runs apart.
PROBLEM_COLUMNS = ("problem", "task", "dim")
REFERENCE_COLUMNS = ("problem", "task", "m", "n", "set", "seed")
RUN_COLUMNS = (*REFERENCE_COLUMNS, "dim", "noise", "n_train", "method", "steps", "n_max", "encoder")


def lost_runs(tidy: Mapping[str, pd.DataFrame]) -> Rows:
    """Rows of file, problem, method, number of lost runs, of all runs, n of the lost ones; `tidy`: frames by file."""
    rows = []
    for name, frame in tidy.items():
        if {"method", "lost_share"} <= set(frame.columns):
            runs = _distinct_rows(frame, RUN_COLUMNS)
            for (problem, method), part in runs.groupby([_problem(runs), "method"], sort=False):
                rows += _row_if_failed(part, is_lost(part.lost_share), name, problem, method)
    return tuple(rows)


def uncertified_references(tidy: Mapping[str, pd.DataFrame]) -> Rows:
    """Rows of file, problem, number of references that did not pass, of all references, n of the former."""
    rows = []
    for name, frame in tidy.items():
        for column in ("reference_passed", "passed"):
            if column in frame:
                references = _distinct_rows(frame, REFERENCE_COLUMNS)
                for problem, part in references.groupby(_problem(references), sort=False):
                    rows += _row_if_failed(part, ~part[column].astype(bool), name, problem)
    return tuple(rows)


def _distinct_rows(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """One row per run or reference: some files have several, one per parameter or classifier."""
    return frame.drop_duplicates([name for name in columns if name in frame])


def _problem(frame: pd.DataFrame) -> pd.Series:
    column = next((name for name in PROBLEM_COLUMNS if name in frame), None)
    if column is None:
        return pd.Series("", frame.index)
    return frame[column].map(lambda value: f"{value}-D" if column == "dim" else str(value)).rename("problem")


def _row_if_failed(part: pd.DataFrame, failed: pd.Series, *names: str) -> Rows:
    """A row with the numbers of failures and of all, and the n of the failures; none without failures."""
    if not failed.any():
        return ()
    n = ", ".join(map(str, sorted(part.n[failed].unique()))) if "n" in part else ""
    return ((*names, str(int(failed.sum())), str(len(part)), n),)

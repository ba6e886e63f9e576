"""What did not work in a run: lost draws, references that did not pass their checks.

Counted in the tidy data behind figures and tables: in every file that has a column for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from tallsbi.metrics.validity import is_lost
from tallsbi.study.report.page import Rows

# The columns that tell problems, references and runs apart; the others hold results.
PROBLEM = ("problem", "task", "dim")
REFERENCE = ("problem", "task", "m", "n", "set", "seed")
RUN = (*REFERENCE, "dim", "noise", "n_train", "method", "steps", "n_max", "encoder")


def lost(tidy: Mapping[str, pd.DataFrame]) -> Rows:
    """File, problem, method, how many runs are lost, of how many, at which n; `tidy`: frames by their file."""
    rows = []
    for name, frame in tidy.items():
        if {"method", "lost_share"} <= set(frame.columns):
            runs = _distinct(frame, RUN)
            for (problem, method), part in runs.groupby([_problem(runs), "method"], sort=False):
                rows += _counted(part, is_lost(part.lost_share), name, problem, method)
    return tuple(rows)


def uncertified(tidy: Mapping[str, pd.DataFrame]) -> Rows:
    """File, problem, how many references did not pass, of how many, at which n."""
    rows = []
    for name, frame in tidy.items():
        for column in ("reference_passed", "passed"):
            if column in frame:
                references = _distinct(frame, REFERENCE)
                for problem, part in references.groupby(_problem(references), sort=False):
                    rows += _counted(part, ~part[column].astype(bool), name, problem)
    return tuple(rows)


def _distinct(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """One row per run or reference: some files have several, one per parameter or classifier."""
    return frame.drop_duplicates([name for name in columns if name in frame])


def _problem(frame: pd.DataFrame) -> pd.Series:
    column = next((name for name in PROBLEM if name in frame), None)
    if column is None:
        return pd.Series("", frame.index)
    return frame[column].map(lambda value: f"{value}-D" if column == "dim" else str(value)).rename("problem")


def _counted(part: pd.DataFrame, failed: pd.Series, *names: str) -> Rows:
    """A row if anything failed."""
    if not failed.any():
        return ()
    n = ", ".join(map(str, sorted(part.n[failed].unique()))) if "n" in part else ""
    return ((*names, str(int(failed.sum())), str(len(part)), n),)

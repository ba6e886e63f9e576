"""Every distance that the paper prints in a table, beside ours, with a verdict: table printed_cells.

A cell agrees where our mean is within two of the printed ± of the printed mean, apart from the rounding of print. Ours
are the averages that the paper prints: over the seeds of a toy, over the parameter sets that the published exclusion
keeps. Times are left out: they belong to a machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.study.settings.artifacts import PrintedTables, ToyTables
from tallsbi.study.tables import sbibm_task
from tallsbi.study.tables.render import METRICS, Table, mean_std, spread
from tallsbi.study.tables.toy_sw_time import LABELS, distances_at_cell

_PRINTED_DEVIATIONS = 2.0


class Agreement(StrEnum):
    AGREES = "agrees"
    LESS = "smaller here"
    MORE = "larger here"
    LOST_HERE = "lost here"
    LOST_IN_PRINT = "lost in print"
    INVALID = "invalid here"
    ABSENT = "not in this run"


UNKNOWN = (Agreement.INVALID, Agreement.ABSENT)


def make(data: Mapping[str, pd.DataFrame], settings: PrintedTables) -> Table:
    """`data`: distances of the toys at every T (`steps`), of all tasks (`metrics`), and the `paper_...`'s rows."""
    tidy = pd.DataFrame(
        [
            *_of_toy("Gaussian toy", data["steps"], data["paper_gaussian"], settings.gaussian),
            *_of_toy("Mixture toy", data["steps"], data["paper_mixture"], settings.mixture),
            *_of_tasks(data, settings),
        ]
    )
    return Table(tidy, _shown(tidy), _note(tidy))


def _of_toy(
    name: str, distances: pd.DataFrame, paper: pd.DataFrame, settings: ToyTables
) -> Iterator[dict[str, Any]]:
    cell = distances_at_cell(distances, settings)
    metric = settings.metric.removesuffix("_norm")
    for line in paper.itertuples():
        part = cell[(cell.method == line.method) & (cell.steps == line.steps)]
        mean, std = mean_std(part[metric]) if len(part) else (np.nan, np.nan)
        yield {
            "table": name,
            "metric": LABELS[metric],
            "n": settings.cell.n_obs,
            "method": line.method,
            "steps": line.steps,
            **_compared(line.sw, line.sw_std, mean, std, present=len(part) > 0, lost=True),
        }


def _of_tasks(data: Mapping[str, pd.DataFrame], settings: PrintedTables) -> Iterator[dict[str, Any]]:
    tables = {"metrics": data["metrics"], "paper": data["paper_sbibm"]}
    for task in settings.sbibm.tasks:
        ours = sbibm_task.make(tables, settings.sbibm, task=task).tidy.set_index(["metric", "n", "method"])
        for line in data["paper_sbibm"][data["paper_sbibm"].task == task].itertuples():
            key = (line.metric, line.n, line.method)
            present = key in ours.index
            found = ours.loc[[key]].iloc[0] if present else pd.Series(dtype=float)
            yield {
                "table": settings.sbibm.labels[task],
                "metric": METRICS[line.metric],
                "n": line.n,
                "method": line.method,
                "steps": found.get("steps", np.nan),
                **_compared(
                    line.mean,
                    line.std,
                    found.get("mean_kept", np.nan),
                    found.get("std_kept", np.nan),
                    present=present,
                    lost=bool(found.get("lost_kept", 0) > 0),
                ),
            }


def _compared(
    printed: float, printed_std: float, mean: float, std: float, *, present: bool, lost: bool
) -> dict[str, Any]:
    """`lost`: where we have no mean, runs are lost; otherwise no comparison is valid."""
    difference = mean - printed
    tolerance = _PRINTED_DEVIATIONS * printed_std + _rounding(printed, printed_std)
    if not present:
        verdict = Agreement.ABSENT
    elif np.isnan(mean) and not lost:
        verdict = Agreement.INVALID
    elif np.isnan(mean) or np.isnan(printed):
        both = np.isnan(mean) and np.isnan(printed)
        lost = Agreement.LOST_HERE if np.isnan(mean) else Agreement.LOST_IN_PRINT
        verdict = Agreement.AGREES if both else lost
    elif abs(difference) <= tolerance:
        verdict = Agreement.AGREES
    else:
        verdict = Agreement.MORE if difference > 0 else Agreement.LESS
    return {
        "printed": printed,
        "printed_std": printed_std,
        "mean": mean,
        "std": std,
        "deviations": difference / printed_std if printed_std > 0 else np.nan,
        "verdict": str(verdict),
    }


def _rounding(*printed: float) -> float:
    """Half a unit of the last decimal that is printed."""
    return 0.5 * 10.0 ** -max(map(sbibm_task.printed_decimals, printed))


def _shown(tidy: pd.DataFrame) -> pd.DataFrame:
    digits = {
        table: 4 if part.printed.min() < 0.01 else 2 for table, part in tidy.groupby(["table", "metric"])
    }
    return pd.DataFrame(
        {
            "table": line.table,
            "metric": line.metric,
            "n": line.n,
            "method": line.method if np.isnan(line.steps) else f"{line.method} ({line.steps:.0f})",
            "printed": "nan"
            if np.isnan(line.printed)
            else sbibm_task.as_printed(line.printed, line.printed_std),
            "ours": "–"
            if line.verdict in UNKNOWN
            else spread(line.mean, line.std, digits[line.table, line.metric]),
            "difference in printed ±": "–" if np.isnan(line.deviations) else f"{line.deviations:+.1f}",
            "verdict": line.verdict,
        }
        for line in tidy.itertuples()
    )


def _note(tidy: pd.DataFrame) -> str:
    judged = tidy[~tidy.verdict.isin(UNKNOWN)]
    counts = ", ".join(
        f"{table} {int((part.verdict == Agreement.AGREES).sum())} of {len(part)}"
        for table, part in judged.groupby("table", sort=False)
    )
    absent, invalid = (
        int((tidy.verdict == verdict).sum()) for verdict in (Agreement.ABSENT, Agreement.INVALID)
    )
    return (
        f"{int((judged.verdict == Agreement.AGREES).sum())} of {len(judged)} cells agree"
        + (f" ({counts})" if counts else "")
        + f": our mean is within {_PRINTED_DEVIATIONS:g} of the printed ± of the printed mean, rounding apart; one "
        f"that is smaller than in print does not agree either. {absent} printed cells are not in this run, and in "
        f"{invalid} no comparison is valid ('invalid here'), mostly since the classifier of C2ST has too few samples. "
        "Ours: mean ± standard deviation over seeds (toys), or over the parameter sets that the published exclusion "
        "keeps (tasks, largest N_train); in print the ± of the toys are 1.96 standard errors. T in brackets. 'lost "
        "here': at least one seed, or all sets that have no valid comparison, are lost; where print has nan and ours "
        "is lost, they agree."
    )

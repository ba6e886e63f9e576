"""Runtime relative to LANGEVIN per dimension: table toy_speedup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tallsbi.study.analysis.hardware import timed_on
from tallsbi.study.settings.artifacts import ToyTables
from tallsbi.study.tables.render import Table, number, spread

BASELINE = "LANGEVIN"


def make(data: Mapping[str, pd.DataFrame], settings: ToyTables) -> Table:
    """`data`: `timing` rows and the `paper`'s printed ratios of its two tables."""
    timing = data["timing"]
    timing = timing[timing.problem == settings.problem]
    seconds = timing.groupby(["m", "n", "steps", "method"], sort=False).seconds.median().unstack("method")
    ratios = seconds.div(seconds[BASELINE], axis=0).drop(columns=BASELINE)
    measured = [
        (settings.problem, int(m), method, part[method].mean(), part[method].std(), len(part))
        for m, part in ratios.groupby("m")
        for method in ratios.columns
    ]
    tidy = pd.DataFrame(measured, columns=["problem", "m", "method", "ratio", "ratio_std", "cells"])
    paper_columns = {"table": "paper_table", "ratio": "paper", "ratio_std": "paper_std"}
    tidy = tidy.merge(data["paper"].rename(columns=paper_columns), "left", ["m", "method"])
    tidy = tidy.fillna({"paper_table": ""})
    shown = []
    for m, part in tidy.groupby("m"):
        row: dict[str, Any] = {"m": m}
        for method in ratios.columns:
            cell = part[part.method == method]
            row[method] = spread(cell.ratio.iloc[0], cell.ratio_std.iloc[0])
            row[f"{method} (paper)"] = " / ".join(map(number, cell.paper.dropna())) or "–"
        shown.append(row)
    note = (
        f"Seconds relative to {BASELINE} at the same T, below 1 is faster; mean ± std over the cells "
        f"n = {_listed(timing.n)}, T = {_listed(timing.steps)} of the median over {settings.repeats} rounds; "
        f"{settings.timing_samples} samples, on {timed_on(timing)}; GAUSS with its covariances, of as many draws as "
        "there are samples (the paper's ratio). "
        "Paper: its two tables, measured on a GPU over n = 2..90 and T = 50..1000; the first number is from the "
        "main text, the second from the appendix (DET_GEF: appendix only). The Jacobians of JAC are m times the "
        "work of a score: on a GPU much of it is done side by side, on one thread of a CPU none."
    )
    return Table(tidy, pd.DataFrame(shown), note)


def _listed(values: pd.Series) -> str:
    return ", ".join(str(value) for value in sorted(values.unique()))

"""Runtime relative to LANGEVIN per dimension: table toy_speedup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tallsbi.study.tables.render import Table, number, spread

BASE = "LANGEVIN"


def make(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Table:
    """`data`: `timing` rows and the `paper`'s printed ratios of its two tables."""
    timing = data["timing"]
    timing = timing[timing.problem == settings["problem"]]
    seconds = timing.groupby(["m", "n", "steps", "method"], sort=False).seconds.median().unstack("method")
    ratios = seconds.div(seconds[BASE], axis=0).drop(columns=BASE)
    rows = []
    for m, part in ratios.groupby("m"):
        for method in ratios.columns:
            for row in _printed(data["paper"], m, method):
                rows.append(
                    {
                        "m": int(m),
                        "method": method,
                        "ratio": part[method].mean(),
                        "ratio_std": part[method].std(),
                        "cells": len(part),
                        **row,
                    }
                )
    tidy = pd.DataFrame(rows)
    tidy.insert(0, "problem", settings["problem"])
    shown = []
    for m, part in tidy.groupby("m"):
        row: dict[str, Any] = {"m": m}
        for method in ratios.columns:
            mine = part[part.method == method]
            row[method] = spread(mine.ratio.iloc[0], mine.ratio_std.iloc[0])
            row[f"{method} (paper)"] = " / ".join(number(v) for v in mine.paper.dropna()) or "–"
        shown.append(row)
    note = (
        f"Seconds relative to {BASE} at the same T, below 1 is faster; mean ± std over the cells "
        f"n = {_listed(timing.n)}, T = {_listed(timing.steps)} of the median over {settings['repeats']} rounds; "
        f"{settings['timing_samples']} samples, one CPU thread, covariance runs of GAUSS included. "
        "Paper: its two tables, measured on a GPU over n = 2..90 and T = 50..1000; the first number is from the "
        "main text, the second from the appendix (DET_GEF: appendix only)."
    )
    return Table(tidy, pd.DataFrame(shown), note)


def _printed(paper: pd.DataFrame, m: int, method: str) -> list[dict[str, Any]]:
    found = paper[(paper.m == m) & (paper.method == method)]
    if found.empty:
        return [{"paper_table": "", "paper": float("nan"), "paper_std": float("nan")}]
    return [
        {"paper_table": row.table, "paper": row.ratio, "paper_std": row.ratio_std}
        for row in found.itertuples()
    ]


def _listed(values: pd.Series) -> str:
    return ", ".join(str(value) for value in sorted(values.unique()))

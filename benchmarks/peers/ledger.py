"""The rows that are measured, in a CSV file that is written after each of them: a run that stops goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.exact_posterior import Exact
from benchmarks.tall import errors

LEVEL = 0.9


@dataclass(frozen=True)
class Row:
    """One method on all datasets of n observations of a problem; seconds are those of the processor."""

    problem: str
    method: str
    n: int
    simulations: int
    datasets: int
    offset: float  # mean of |mean - exact mean| / exact standard deviation
    spread: float  # geometric mean of standard deviation / exact one
    expected_z: float  # expected root mean square of (theta* - mean) / standard deviation
    coverage: float  # of the true parameters by the central 90 % intervals
    strays: float  # share of draws that are not finite; a dataset that has any is left out
    train_seconds: float
    sample_seconds: float  # for one dataset
    note: str = ""


class Ledger:
    """`path` holds the rows in the order in which they were measured."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def frame(self) -> pd.DataFrame:
        names = [field.name for field in fields(Row)]
        if not self.path.is_file():
            return pd.DataFrame(columns=names)
        return pd.read_csv(self.path, dtype={"note": str}).fillna({"note": ""})[names]

    def has(self, problem: str, method: str, n: int, simulations: int, datasets: int) -> bool:
        rows = self.frame()
        wanted = {
            "problem": problem,
            "method": method,
            "n": n,
            "simulations": simulations,
            "datasets": datasets,
        }
        return bool((rows[list(wanted)] == pd.Series(wanted)).all(axis=1).any())

    def forget(self, problems: Sequence[str], methods: Sequence[str]) -> None:
        rows = self.frame()
        if len(rows):
            rows[~(rows.problem.isin(problems) & rows.method.isin(methods))].to_csv(self.path, index=False)

    def add(self, row: Row) -> None:
        new = pd.DataFrame([asdict(row)])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new.to_csv(self.path, mode="a", header=not self.path.is_file(), index=False)


def measured(draws: np.ndarray, truth: np.ndarray, exact: list[Exact]) -> dict[str, float]:
    """The four numbers and the strays, of draws [B, S, m] and true parameters [B, m]."""
    finite = np.isfinite(draws).all((1, 2))
    strays = float(1 - np.isfinite(draws).all(2).mean())
    names = ("offset", "spread", "expected_z", "coverage")
    if not finite.any():
        return {**dict.fromkeys(names, float("nan")), "strays": strays}
    kept = [posterior for posterior, good in zip(exact, finite, strict=True) if good]
    low, high = np.quantile(draws[finite], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    inside = (low <= truth[finite]) & (truth[finite] <= high)
    return {
        **dict(zip(names, (*errors(draws[finite], kept), float(inside.mean())), strict=True)),
        "strays": strays,
    }

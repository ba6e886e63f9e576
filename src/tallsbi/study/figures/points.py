"""From tidy data to the points of a line: which rows belong to it, and their means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tallsbi.metrics.validity import is_lost
from tallsbi.study.figures import style


@dataclass(frozen=True)
class Line:
    """One line of every panel: the column values that select its rows, its label and its look."""

    where: Mapping[str, str | float]
    label: str
    look: style.Look

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of the line."""
        selected = np.ones(len(frame), bool)
        for column, value in self.where.items():
            selected &= (frame[column] == value).to_numpy()
        return frame[selected]


def method_lines(frame: pd.DataFrame) -> list[Line]:
    """A line per method and number T of steps, in the order in which the methods come in the data."""
    lines = []
    for method in dict.fromkeys(frame.method):
        steps = sorted(frame.steps[frame.method == method].unique().tolist(), reverse=True)
        for rank, count in enumerate(steps):
            where = {"method": method, "steps": count}
            lines.append(Line(where, style.method_label(method, count), style.method_look(method, rank)))
    return lines


def lines_without_steps(frame: pd.DataFrame) -> list[Line]:
    """A line per method, whatever its T."""
    return [Line({"method": name}, name, style.method_look(name)) for name in dict.fromkeys(frame.method)]


def noise_lines(frame: pd.DataFrame) -> list[Line]:
    """A line per noise level, the smallest first."""
    levels = sorted(frame.noise.unique().tolist())
    return [Line({"noise": level}, style.title("noise", level), style.noise_look(level)) for level in levels]


def points(
    frame: pd.DataFrame, y: str, by: str, place: str | None = None, *, strict: bool = False
) -> pd.DataFrame:
    """A point per value of `by`: its `x`, `mean` and `std` of y (NaN for one run), and the numbers of `runs`, of `lost`
    and of `invalid` ones.

    `x` is the mean of the column `place`, by default the value of `by`. A run without a finite y is lost; but if the
    data say whether y is valid, and the run is not lost, the comparison is invalid. The mean is that of the other
    runs. If `strict`, one such run leaves the point without a mean: with a few random seeds, to drop one would flatter
    the method. `incomplete`: the mean leaves out runs, or draws of a run.
    """
    values, keys = frame[y].where(np.isfinite(frame[y])), frame[by]
    groups = values.groupby(keys)
    table = pd.DataFrame({"x": frame[place or by].groupby(keys).mean(), "mean": groups.mean()})
    invalid = values.isna() & ~is_lost(frame.lost_share) & (f"{y}_valid" in frame)
    table = table.assign(std=groups.std(), runs=groups.size(), invalid=invalid.groupby(keys).sum())
    table = table.assign(lost=table.runs - groups.count() - table.invalid)
    if strict:
        table.loc[table.lost + table.invalid > 0, ["mean", "std"]] = np.nan
    left_out = ((frame.lost_share > 0) | values.isna()).groupby(keys).any()
    return table.assign(incomplete=left_out & table["mean"].notna())


def doubtful(frame: pd.DataFrame, unit: str) -> int:
    """How many sets or seeds have a reference posterior that did not pass its checks."""
    return int(frame[unit][~frame.reference_passed.astype(bool)].nunique())

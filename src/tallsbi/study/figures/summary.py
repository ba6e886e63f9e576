"""From the tidy distances to the curves of a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.study.figures import style


@dataclass(frozen=True)
class Line:
    """One line of every panel: the column values that select its rows, its label and its look."""

    where: Mapping[str, Any]
    label: str
    look: style.Look

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        keep = np.ones(len(frame), bool)
        for column, value in self.where.items():
            keep &= (frame[column] == value).to_numpy()
        return frame[keep]


def over_seeds(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Per n: `mean` and `std` (ddof 1, 0 for one seed) of the metric over seeds, `diverged` and `certified`.

    One seed without a finite distance leaves the cell without a mean: dropping the seed would flatter the
    method. `certified`: the references of all seeds passed their check.
    """
    values = frame[metric].where(np.isfinite(frame[metric]))
    certified = frame.get("reference_passed", pd.Series(True, frame.index)).astype(bool)
    groups = pd.DataFrame({"n": frame.n, "value": values, "certified": certified}).groupby("n")
    summary = pd.DataFrame(
        {
            "mean": groups["value"].mean(),
            "std": groups["value"].std().fillna(0.0),
            "diverged": groups["value"].count() < groups.size(),
            "certified": groups["certified"].all(),
        }
    )
    summary.loc[summary.diverged, ["mean", "std"]] = np.nan
    return summary


def method_lines(frame: pd.DataFrame) -> list[Line]:
    """A line per method and number T of steps, in the order in which the methods come in the data."""
    lines = []
    for method in dict.fromkeys(frame.method):
        steps = sorted(frame.steps[frame.method == method].unique().tolist(), reverse=True)
        for rank, count in enumerate(steps):
            where = {"method": method, "steps": count}
            lines.append(Line(where, style.method_label(method, count), style.method_look(method, rank)))
    return lines


def noise_lines(frame: pd.DataFrame) -> list[Line]:
    """A line per noise level, the smallest first."""
    levels = sorted(frame.noise.unique().tolist())
    return [Line({"noise": level}, style.title("noise", level), style.noise_look(level)) for level in levels]


def without(frame: pd.DataFrame, method: str) -> pd.DataFrame:
    """The frame without a method and its clipped variant."""
    return frame[frame.method.map(style.base_name) != method]


def problem_rows(frame: pd.DataFrame, titles: Mapping[str, str], dim: int) -> list[tuple[str, pd.DataFrame]]:
    """The rows of a figure at dimension `dim`: title and data of each problem of `titles` that has data.

    The mixture exists at one dimension only and is shown there, whatever `dim`; the titles give m.
    """
    rows = []
    for problem, text in titles.items():
        part = frame[frame.problem == problem]
        m = min(part.m) if problem == "mixture" and len(part) and dim not in set(part.m) else dim
        part = part[part.m == m]
        if len(part):
            rows.append((f"{text}\n{style.title('m', m)}", part))
    return rows


def gaussian(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> pd.DataFrame:
    """The distances of the Gaussian problem under the prior of the settings."""
    metrics = data["metrics"]
    return metrics[metrics.problem == style.GAUSSIANS[settings["toy_prior"]]]

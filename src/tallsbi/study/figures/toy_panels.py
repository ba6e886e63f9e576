"""Error against n on the toy problems (Figure 2 and appendix): the Gaussian and the mixture, with inexact scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import X_LABELS, Axis, ticked_axis
from tallsbi.study.figures.grid import Layout, grid, legend_entries
from tallsbi.study.figures.limits import shortfall
from tallsbi.study.figures.panels import Panel
from tallsbi.study.figures.points import Line, method_lines, noise_lines
from tallsbi.study.settings.artifacts import ToyFigures

PAPER_AXIS = Axis((-0.1, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0))
Data = Mapping[str, pd.DataFrame]


def sw_vs_n(data: Data, settings: ToyFigures, *, hidden: Collection[str] = ()) -> Figure:
    """Rows: Gaussian and mixture; columns: noise levels; lines: methods but those `hidden`."""
    metrics = _without_methods(data["metrics"], hidden)
    prior = settings.prior
    titles = {style.GAUSSIANS[prior]: f"Gaussian, {style.PRIORS[prior]}", "mixture": "Gaussian mixture"}
    rows = problem_rows(metrics, titles, settings.dim)
    return toy_grid(rows, "noise", method_lines(metrics), settings.metric)


def by_dim(data: Data, settings: ToyFigures, *, hidden: Collection[str] = ()) -> Figure:
    """The Gaussian; rows: dimensions m; columns: noise levels; lines: methods but those `hidden`."""
    metrics = _without_methods(_gaussian(data, settings), hidden)
    rows = [(style.title("m", m), part) for m, part in metrics.groupby("m")]
    return toy_grid(rows, "noise", method_lines(metrics), settings.metric)


def by_noise(data: Data, settings: ToyFigures) -> Figure:
    """The Gaussian; rows: methods; columns: dimensions m; lines: noise levels."""
    metrics = _gaussian(data, settings)
    rows = [(line.label, line.of(metrics)) for line in method_lines(metrics)]
    return toy_grid(rows, "m", noise_lines(metrics), settings.metric)


def toy_grid(
    rows: Sequence[tuple[str, pd.DataFrame]],
    column: str,
    lines: Sequence[Line],
    metric: str,
    y_axis: Axis = PAPER_AXIS,
) -> Figure:
    """A row of panels per (title, distances), a column per value of `column`."""
    if not rows or not lines:
        raise ValueError("no distances to draw: no problem or no method of this figure is in the data")
    shown = pd.concat([frame for _, frame in rows])
    columns = sorted(shown[column].unique().tolist())
    layout = Layout(len(rows), len(columns))
    x_axis = ticked_axis(shown.n.unique().tolist(), layout.width, X_LABELS["n"])
    keys = {"unit": "seed", "strict": True, "doubt": "point", "best": 0.0}
    panels = [
        (
            title,
            [
                Panel(frame[frame[column] == value], lines, metric, x_axis, y_axis, **keys)
                for value in columns
            ],
        )
        for title, frame in rows
    ]
    used_lines = [line for line in lines if len(line.of(shown))]
    return grid(
        panels,
        [style.title(column, value) for value in columns],
        layout,
        lambda mark_kinds: legend_entries(used_lines, mark_kinds, "seed", {shown.seed.nunique()}),
        label=style.METRICS.get(metric, metric),
        warnings=[shortfall(shown, "samples", "steps")],
    )


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


def _without_methods(frame: pd.DataFrame, methods: Collection[str]) -> pd.DataFrame:
    """The frame without some methods and their clipped variants."""
    return frame[~frame.method.map(style.base_name).isin(list(methods))]


def _gaussian(data: Data, settings: ToyFigures) -> pd.DataFrame:
    """The distances of the Gaussian problem under the prior of the settings."""
    metrics = data["metrics"]
    return metrics[metrics.problem == style.GAUSSIANS[settings.prior]]

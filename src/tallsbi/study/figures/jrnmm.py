"""Distance to the true parameter theta* against n, and posteriors of GAUSS, on the Jansen-Rit model (section 4.3).

The distance is drawn as published: (Var + (mean - theta*)²) / sd, averaged over the parameters in raw units, which the
paper calls an MMD to a Dirac; and as the kernel MMD to the point mass, averaged over the parameters. Plain JAC is left
out, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.ticker import MaxNLocator

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import FINE_STEPS, X_LABELS, Axis, axis_from_zero, round_up, ticked_axis
from tallsbi.study.figures.density import SHARES
from tallsbi.study.figures.grid import legend_entries
from tallsbi.study.figures.jrnmm_posteriors import (
    Posteriors,
    draw_contours,
    draw_marginals,
    posterior_entries,
    posteriors,
)
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.figures.limits import shortfall, warn
from tallsbi.study.figures.panels import Panel, PanelMarks
from tallsbi.study.figures.points import Line, method_lines
from tallsbi.study.settings.artifacts import JrnmmFigures

HIDDEN_METHODS = ("JAC",)
DISTANCES = {
    "published": ("distance to $θ^*$, as published", "(Var + bias²) / sd, raw units"),
    "mmd": ("kernel MMD to $θ^*$", "MMD to a point mass"),
}
PAPER_ENDS = {("published", 4): 600.0}  # of the paper's axes, where it sets one
AVERAGE = "all"
Data = Mapping[str, pd.DataFrame]


def marginals(data: Data, settings: JrnmmFigures) -> Figure:
    """Two panels of distances against n, then a panel per parameter."""
    dirac = rows_of(data["dirac"], settings.dim, "distances to the true parameter")
    clouds, lines = posteriors(data["draws"], settings), method_lines(dirac)
    panel, width = 1.75, 1.75 * (2 + settings.dim) + 0.8
    with style.context():
        figure = Figure(layout="constrained")
        axes = figure.subplots(1, 2 + settings.dim, width_ratios=[1.1, 1.1, *[1.0] * settings.dim])
        marks = _draw_distances(list(axes[:2]), dirac, lines, settings.dim, panel)
        for index, ax in enumerate(axes[2:]):
            draw_marginals(ax, clouds, index)
            ax.set_xlabel(clouds.label(index))
        axes[2].set_title("GAUSS, marginal densities", loc="left")
        entries = [*legend_entries(lines, marks.mark_kinds), *posterior_entries(clouds)]
        rows = add_legend(figure, entries, width, _sizes_note(dirac, settings))
        figure.set_size_inches(width, 3.0 + 0.17 * rows + warn(figure, shortfall(dirac, "steps")))
    return figure


def pairs(data: Data, settings: JrnmmFigures) -> Figure:
    """Left two panels of distances against n, right the pair plot."""
    dirac = rows_of(data["dirac"], settings.dim, "distances to the true parameter")
    # The pair plot has n = 1 among the others, so the observations alone are not drawn.
    draws = data["draws"]
    clouds, lines = posteriors(draws[draws.kind == "tall"], settings), method_lines(dirac)
    left, square = 2.6, 1.25 * settings.dim  # inches
    with style.context():
        figure = Figure(layout="constrained")
        distances, plot = figure.add_gridspec(1, 2, width_ratios=[left, square])
        panels = [figure.add_subplot(cell) for cell in distances.subgridspec(2, 1)]
        marks = _draw_distances(panels, dirac, lines, settings.dim, left)
        panels[0].set_xlabel("")
        _draw_pairs(figure, plot, clouds)
        width = left + square + 0.8
        rows = add_legend(
            figure, legend_entries(lines, marks.mark_kinds), width, _sizes_note(dirac, settings)
        )
        figure.set_size_inches(width, square + 1.0 + 0.17 * rows + warn(figure, shortfall(dirac, "steps")))
    return figure


def rows_of(frame: pd.DataFrame, dim: int, what: str) -> pd.DataFrame:
    """The rows of one setting (3-D or 4-D) and of the methods that are shown."""
    rows = frame[(frame.dim == dim) & ~frame.method.isin(HIDDEN_METHODS)]
    if rows.empty:
        dims = sorted(set(frame.dim.tolist()))
        raise ValueError(
            f"dim = {dim}: no {what} of a method to show in this setting (the data have dim {dims}); run its jobs"
        )
    return rows


def _draw_distances(
    axes: Sequence[Axes], dirac: pd.DataFrame, lines: Sequence[Line], dim: int, width: float
) -> PanelMarks:
    """Draws both panels of distances."""
    average = dirac[dirac.parameter == AVERAGE]
    x_axis = ticked_axis(average.n.unique().tolist(), width, X_LABELS["n"], log=False)
    all_marks = PanelMarks()
    for ax, (column, (title, label)) in zip(axes, DISTANCES.items(), strict=True):
        y_axis = distance_axis(average[column].to_numpy(float), PAPER_ENDS.get((column, dim)), label)
        marks = Panel(average, lines, column, x_axis, y_axis, strict=True, name_absent=True).draw(ax, width)
        ax.set_title(title, pad=5 + marks.points)
        ax.set_xlabel(x_axis.label)
        ax.set_ylabel(label)
        all_marks.add(marks)
    return all_marks


def distance_axis(values: np.ndarray, paper_end: float | None, label: str = "") -> Axis:
    """From 0 to the paper's end. Without one, or with most values beyond it, up to a round number.

    That number leaves out values ten times above the median: a single method that has nearly blown up must not press
    all others to the floor.
    """
    finite = values[np.isfinite(values)]
    if paper_end is not None and (len(finite) == 0 or np.mean(finite > paper_end) <= 0.5):
        return axis_from_zero(paper_end, label)
    typical = finite[finite <= 10 * np.median(finite)] if len(finite) else np.ones(1)
    return replace(axis_from_zero(round_up(float(typical.max()), FINE_STEPS), label), paper_end=paper_end)


def _sizes_note(dirac: pd.DataFrame, settings: JrnmmFigures) -> str:
    """What the reader has to know of the numbers: theta*, draws per posterior, bandwidth of the kernel."""
    truth = ", ".join(f"{settings.labels[name]} = {value:g}" for name, value in settings.theta.items())
    counts = sorted(set(dirac.samples.astype(int).tolist()))
    draws = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return (
        f"$θ^*$: {truth}; {draws} draws per posterior\n"
        "distances are means over the parameters; bandwidth of the kernel: standard deviation of the prior"
    )


def _draw_pairs(figure: Figure, place: SubplotSpec, clouds: Posteriors) -> None:
    """Marginals on the diagonal, pairs below it, the legend of n above it."""
    size = len(clouds.names)
    cells = place.subgridspec(size, size)
    for row, column in product(range(size), range(size)):
        if row < column:
            continue
        ax = figure.add_subplot(cells[row, column])
        if row == column:
            draw_marginals(ax, clouds, row)
        else:
            draw_contours(ax, clouds, column, row)
            ax.yaxis.set_major_locator(MaxNLocator(3))
        ax.xaxis.set_major_locator(MaxNLocator(3))
        if row == size - 1:
            ax.set_xlabel(clouds.label(column))
        if column == 0 and row > 0:
            ax.set_ylabel(clouds.label(row))
        ax.tick_params(labelbottom=row == size - 1, labelleft=column == 0 and row > 0)
    corner = figure.add_subplot(cells[0, 1:])
    corner.set_axis_off()
    shares = " and ".join(f"{100 * share:.0f} %" for share in SHARES)
    legend = corner.legend(
        handles=posterior_entries(clouds, dots=True),
        title=f"GAUSS; contours hold {shares} of the draws",
        title_fontsize=7.5,
        loc="upper right",
        ncols=2,
        frameon=False,
    )
    # A long entry must not push the panels apart.
    legend.set_in_layout(False)

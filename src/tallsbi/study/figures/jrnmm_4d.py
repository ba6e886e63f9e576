"""Figure jrnmm_4d: distance to the true parameter and pair plot of GAUSS with all four parameters (section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.ticker import MaxNLocator

from tallsbi.study.figures import density, style
from tallsbi.study.figures.jrnmm_distances import draw_distances, sizes
from tallsbi.study.figures.jrnmm_panels import handles, method_lines, note, rows_of
from tallsbi.study.figures.jrnmm_posteriors import (
    FEWEST,
    Posteriors,
    draw_marginals,
    frame_window,
    posterior_handles,
    posteriors,
)
from tallsbi.study.figures.legend import add_legend

SHARES = (0.5, 0.9)
_LEFT, _PANEL = 2.6, 1.25  # inches


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Left two panels of distances against n, right the pair plot."""
    dim = settings["dim"]
    dirac = rows_of(data["dirac"], dim, "distances to the true parameter")
    every = data["draws"]
    # The pair plot has n = 1 among the others, so the observations alone are not drawn.
    found = posteriors(every[every.kind == "tall"], settings)
    lines = method_lines(dirac)
    with style.context():
        figure = Figure(layout="constrained")
        left, right = figure.add_gridspec(1, 2, width_ratios=[_LEFT, _PANEL * dim])
        panels = [figure.add_subplot(cell) for cell in left.subgridspec(2, 1)]
        states = draw_distances(panels, dirac, lines, dim)
        panels[0].set_xlabel("")
        _pairs(figure, right, found, settings["labels"])
        width = _LEFT + _PANEL * dim + 0.8
        rows = add_legend(figure, handles(lines, states), width)
        note(figure, sizes(dirac, settings))
        figure.set_size_inches(width, _PANEL * dim + 1.0 + 0.17 * rows)
    return figure


def _pairs(figure: Figure, place: SubplotSpec, found: Posteriors, labels: Mapping[str, str]) -> None:
    """Marginals on the diagonal, pairs below it, the legend of n above it."""
    size = len(found.names)
    grid = place.subgridspec(size, size)
    for row, column in product(range(size), range(size)):
        if row < column:
            continue
        ax = figure.add_subplot(grid[row, column])
        if row == column:
            draw_marginals(ax, found, row)
        else:
            _contours(ax, found, column, row)
            ax.set_ylim(found.window(row))
            ax.yaxis.set_major_locator(MaxNLocator(3))
        ax.xaxis.set_major_locator(MaxNLocator(3))
        if row == size - 1:
            ax.set_xlabel(labels.get(found.names[column], found.names[column]))
        else:
            ax.tick_params(labelbottom=False)
        if column == 0 and row > 0:
            ax.set_ylabel(labels.get(found.names[row], found.names[row]))
        else:
            ax.tick_params(labelleft=False)
    corner = figure.add_subplot(grid[0, 1:])
    corner.set_axis_off()
    shares = " and ".join(f"{100 * share:.0f} %" for share in SHARES)
    legend = corner.legend(
        handles=posterior_handles(found, dots=True),
        title=f"GAUSS; contours hold {shares} of the draws",
        title_fontsize=7.5,
        loc="upper right",
        ncols=2,
        frameon=False,
    )
    # A long entry must not push the panels apart.
    legend.set_in_layout(False)


def _contours(ax: Axes, found: Posteriors, first: int, second: int) -> None:
    """The inner region filled, the outer outlined, the smallest n at the bottom."""
    frame_window(ax, found, first)
    for n in found.counts:
        points = found.near(found.tall[n], first, second)
        if len(points) < FEWEST:
            continue
        color = found.shade(n)
        x, y, height = density.joint(points)
        outer, *inner = density.levels(height, SHARES)
        ax.contour(x, y, height.T, [outer], colors=[color], linewidths=0.9)
        if inner:
            ax.contourf(x, y, height.T, [*inner, 1.01 * height.max()], colors=[(*color[:3], 0.45)])
    low, high = found.box[second]
    bottom, top = found.window(second)
    for start, end in ((bottom, low), (high, top)):
        if start < end:
            ax.axhspan(start, end, color="0.93", linewidth=0, zorder=0, label="_outside the prior")
    ax.plot(*found.truth[[first, second]], marker="o", markersize=3.0, color="black", label="_truth")

"""Figure jrnmm_3d: distance to the true parameter and marginals of GAUSS with the gain known (section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tallsbi.study.figures import style
from tallsbi.study.figures.jrnmm_distances import draw_distances, sizes
from tallsbi.study.figures.jrnmm_panels import handles, method_lines, note, rows_of
from tallsbi.study.figures.jrnmm_posteriors import draw_marginals, posterior_handles, posteriors
from tallsbi.study.figures.legend import add_legend

_WIDTH, _HEIGHT = 1.75, 2.1  # inches of a panel


def draw(data: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> Figure:
    """Two panels of distances against n, then a panel per parameter."""
    dim = settings["dim"]
    dirac = rows_of(data["dirac"], dim, "distances to the true parameter")
    found = posteriors(data["draws"], settings)
    lines = method_lines(dirac)
    with style.context():
        figure = Figure(layout="constrained")
        axes = figure.subplots(1, 2 + dim, width_ratios=[1.1, 1.1, *[1.0] * dim])
        states = draw_distances(list(axes[:2]), dirac, lines, dim)
        for index, ax in enumerate(axes[2:]):
            draw_marginals(ax, found, index)
            ax.set_xlabel(settings["labels"].get(found.names[index], found.names[index]))
        axes[2].set_title("GAUSS, marginal densities", loc="left")
        width = _WIDTH * (2 + dim) + 0.8
        entries = [*handles(lines, states), *posterior_handles(found)]
        rows = add_legend(figure, entries, width)
        note(figure, sizes(dirac, settings))
        figure.set_size_inches(width, _HEIGHT + 0.9 + 0.17 * rows)
    return figure

"""The two panels of the distance to the true parameter theta* against n (section 4.3).

As published: (Var + (mean - theta*)²) / sd, averaged over the parameters in raw units, which the paper calls
an MMD to a Dirac; and the kernel MMD to the point mass, averaged over the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from tallsbi.study.figures.benchmark_legend import WIDENED
from tallsbi.study.figures.jrnmm_panels import TIER, draw_lines, linear_scale
from tallsbi.study.figures.jrnmm_posteriors import true_parameter
from tallsbi.study.figures.summary import Line

COLUMNS = {
    "published": ("distance to $θ^*$, as published", "(Var + bias²) / sd, raw units"),
    "mmd": ("kernel MMD to $θ^*$", "MMD to a point mass"),
}
PAPER_ENDS = {("published", 4): 600.0}  # of the paper's axes, where it sets one
AVERAGE = "all"


def draw_distances(axes: Sequence[Axes], dirac: pd.DataFrame, lines: Sequence[Line], dim: int) -> set[str]:
    """Draws both panels from the rows of one setting; returns the kinds of marks that occur."""
    average = dirac[dirac.parameter == AVERAGE]
    states: set[str] = set()
    for ax, (column, (title, label)) in zip(axes, COLUMNS.items(), strict=True):
        end = PAPER_ENDS.get((column, dim))
        scale = linear_scale(average[column].to_numpy(float), end)
        drawn = draw_lines(ax, average, lines, column, scale)
        states |= drawn.states
        if end is not None and scale.ticks[-1] > end:
            ax.axhline(end, color="0.6", linewidth=0.8, linestyle=":", label=f"_{WIDENED}")
            states.add(WIDENED)
        ax.set_title(title, pad=5 + TIER * drawn.stacked)
        ax.set_ylabel(label)
    return states


def sizes(dirac: pd.DataFrame, settings: Mapping[str, Any]) -> str:
    """What the reader has to know of the numbers: theta*, draws per posterior, bandwidth of the kernel."""
    labels = settings["labels"]
    truth = [f"{labels.get(name, name)} = {value:g}" for name, value in true_parameter(settings).items()]
    counts = sorted(set(dirac.samples.astype(int).tolist()))
    draws = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    kernel = f"; bandwidth of the kernel: {settings['bandwidth']}" if settings.get("bandwidth") else ""
    return (
        f"$θ^*$: {', '.join(truth)}; {draws} draws per posterior\n"
        f"distances are means over the parameters{kernel}"
    )

"""The legend below the panels: the lines, the band, and the marks for what the axis cannot show."""

from __future__ import annotations

from collections.abc import Container, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tallsbi.study.figures import style
from tallsbi.study.figures.summary import Line

ABOVE, BELOW, DIVERGED = "above the axis", "below the axis", "diverged (NaN)"
UNCERTIFIED = "reference not certified"
# Marker, its size and the width of its edge, in points.
MARKS = {ABOVE: (r"$\uparrow$", 5.0, 0.4), BELOW: (r"$\downarrow$", 5.0, 0.4), DIVERGED: ("x", 4.0, 1.1)}


def legend_handles(lines: Sequence[Line], states: Container[str], seeds: int) -> list[Line2D | Patch]:
    """An entry per line, one for the band, and one per kind of mark that occurs."""
    handles: list[Line2D | Patch] = []
    for line in lines:
        look = line.look
        keys = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
        handles.append(Line2D([], [], color=look.color, linestyle=look.line, label=line.label, **keys))
    if seeds > 1:
        handles.append(Patch(color=style.NEUTRAL, alpha=0.2, linewidth=0, label=f"mean ± std, {seeds} seeds"))
    else:
        handles.append(Line2D([], [], linestyle="none", label="one seed, no band"))
    for state, (marker, size, edge) in MARKS.items():
        if state in states:
            keys = {"marker": marker, "markersize": size, "markeredgewidth": edge, "color": style.NEUTRAL}
            handles.append(Line2D([], [], linestyle="none", label=state, **keys))
    if UNCERTIFIED in states:
        keys = {"marker": "o", "linestyle": "none", "color": style.NEUTRAL, "markerfacecolor": "white"}
        handles.append(Line2D([], [], label=UNCERTIFIED, **keys))
    return handles


def add_legend(figure: Figure, handles: Sequence[Line2D | Patch], width: float) -> int:
    """A legend below the panels of a figure `width` inches wide; returns its number of rows."""
    size = style.RC["legend.fontsize"]
    entry = (0.62 * size * max(len(handle.get_label()) for handle in handles) + 4.5 * size) / 72
    columns = max(1, min(int(width // entry), len(handles)))
    rows = -(-len(handles) // columns)
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=-(-len(handles) // rows),
        prop={"family": "monospace", "size": size},
        frameon=False,
        handlelength=2.4,
        columnspacing=1.6,
    )
    return rows

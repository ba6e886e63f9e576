"""The legend below the panels: the lines, the spread, and the marks for what the axes cannot show.

Its words are the same in every figure. A mark stands above the panel or at its lower edge, in the colour of its line.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tallsbi.study.figures import style
from tallsbi.study.figures.points import Line

Entry = Line2D | Patch

ABOVE_AXIS, BELOW_AXIS = "above the axis", "below the axis"
LOST_RUNS = "lost"  # as tallsbi.metrics.validity defines it
INVALID_COMPARISONS = "invalid"  # as the same module defines it
INCOMPLETE_MEAN = "lost left out"  # drawn hollow
DOUBTFUL_REFERENCES = "references in doubt"  # they did not pass their checks
ALL_SETS = "mean of all sets"
PAPER_AXIS_END = "paper's axis ends"
PAPER_AXIS_END_LOOK = {"color": "0.6", "linewidth": 0.8, "linestyle": ":"}
ALL_SETS_LOOK = {"linewidth": 0.6, "alpha": 0.6, "marker": ".", "markersize": 2.0}


def symbol(look: style.Look) -> dict[str, object]:
    """The marker of a line, as keywords of matplotlib."""
    edge = {"markeredgecolor": look.edge_color, "markeredgewidth": 0.6}
    return {"color": look.color, "marker": look.marker, "markersize": look.size, **edge}


def line_entries(lines: Sequence[Line]) -> list[Entry]:
    return [Line2D([], [], linestyle=line.look.line, label=line.label, **symbol(line.look)) for line in lines]


def spread_entry(unit: str, counts: Collection[int], *, bars: bool = False) -> Entry:
    """What the band or the bars show; `unit`: set, seed or classifier; `counts`: how many of them the rows have."""
    if max(counts) == 1:
        return Line2D([], [], linestyle="none", label=f"one {unit}, no {'bar' if bars else 'band'}")
    label = f"mean ± std of {unit}s" if len(counts) > 1 else f"mean ± std, {max(counts)} {unit}s"
    if bars:
        return Line2D([], [], color=style.NEUTRAL, linestyle="none", marker="|", markersize=8, label=label)
    return Patch(color=style.NEUTRAL, alpha=0.2, linewidth=0, label=label)


def mark_entries(mark_kinds: Container[str], *, counted: bool) -> list[Entry]:
    """An entry per kind of mark that occurs; `counted`: a mark says how many runs are lost."""
    k = "k " if counted else ""
    kinds = {
        ALL_SETS: ALL_SETS_LOOK,
        ABOVE_AXIS: _text_marker(r"$\uparrow$", 5.0),
        BELOW_AXIS: _text_marker(r"$\downarrow$", 5.0),
        LOST_RUNS: _text_marker(rf"$\times {k}$", 9.0 if counted else 5.0),
        INVALID_COMPARISONS: _text_marker(rf"$\emptyset {k}$", 9.0 if counted else 5.0),
        INCOMPLETE_MEAN: {"linestyle": "none", "marker": "o", "markerfacecolor": "white"},
        DOUBTFUL_REFERENCES: _text_marker("$?k$", 7.0),
        PAPER_AXIS_END: PAPER_AXIS_END_LOOK,
    }
    names = {
        LOST_RUNS: f"{k}{LOST_RUNS}",
        INVALID_COMPARISONS: f"{k}{INVALID_COMPARISONS}",
        DOUBTFUL_REFERENCES: f"k {DOUBTFUL_REFERENCES}",
    }
    return [
        Line2D([], [], label=names.get(kind, kind), **{"color": style.NEUTRAL, **look})
        for kind, look in kinds.items()
        if kind in mark_kinds
    ]


def _text_marker(marker: str, size: float) -> dict[str, object]:
    return {"linestyle": "none", "marker": marker, "markersize": size, "markeredgewidth": 0.4}


def add_legend(figure: Figure, entries: Sequence[Entry], width: float, note: str = "") -> int:
    """A legend below the panels of a figure `width` inches wide, with a note above; returns its number of rows."""
    size = style.RC["legend.fontsize"]
    entry = (0.62 * size * max(len(handle.get_label()) for handle in entries) + 4.5 * size) / 72
    columns = max(1, min(int(width // entry), len(entries)))
    rows = -(-len(entries) // columns)
    legend = figure.legend(
        handles=list(entries),
        loc="outside lower center",
        ncols=-(-len(entries) // rows),
        prop={"family": "monospace", "size": size},
        frameon=False,
        handlelength=2.4,
        columnspacing=1.6,
    )
    if note:
        legend.set_title(note, prop={"size": size})
        legend.get_title().set_multialignment("center")
    return rows

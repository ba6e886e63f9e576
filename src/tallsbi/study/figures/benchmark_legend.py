"""The legend of the benchmark's grids: the lines, the band, and the marks that occur."""

from __future__ import annotations

from collections.abc import Container, Sequence

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tallsbi.study.figures import style
from tallsbi.study.figures.summary import Line

ABOVE, BELOW = "above the axis", "below the axis"
LOST, SURVIVORS = "sets diverged", "mean of the others"
UNCERTIFIED = "references in doubt"
ALL_SETS = "mean of all sets"
WIDENED = "paper's axis ends"
_SYMBOLS = {ABOVE: (r"$\uparrow$", 5.0), BELOW: (r"$\downarrow$", 5.0), LOST: (r"$\times 3$", 9.0)}


def handles(lines: Sequence[Line], states: Container[str], sets: int) -> list[Line2D | Patch]:
    """An entry per line, one for the band, and one per kind of mark that occurs."""
    entries: list[Line2D | Patch] = []
    for line in lines:
        look = line.look
        keys = {"marker": look.marker, "markersize": look.size, "markeredgecolor": look.edge_color}
        entries.append(Line2D([], [], color=look.color, linestyle=look.line, label=line.label, **keys))
    grey = {"color": style.NEUTRAL}
    if sets > 1:
        entries.append(Patch(alpha=0.2, linewidth=0, label="mean ± std of sets", **grey))
    else:
        entries.append(Line2D([], [], linestyle="none", label="one set, no band"))
    if ALL_SETS in states:
        thin = {"linewidth": 0.6, "alpha": 0.6, "marker": ".", "markersize": 2.0}
        entries.append(Line2D([], [], label=ALL_SETS, **thin, **grey))
    for state, (marker, size) in _SYMBOLS.items():
        if state in states:
            keys = {"linestyle": "none", "marker": marker, "markersize": size, "markeredgewidth": 0.4}
            entries.append(Line2D([], [], label=state, **keys, **grey))
    if LOST in states:
        keys = {"marker": "o", "linestyle": "none", "markerfacecolor": "white"}
        entries.append(Line2D([], [], label=SURVIVORS, **keys, **grey))
    if UNCERTIFIED in states:
        keys = {"linestyle": "none", "marker": "$?2$", "markersize": 7.0, "markeredgewidth": 0.4}
        entries.append(Line2D([], [], label=UNCERTIFIED, **keys, **grey))
    if WIDENED in states:
        entries.append(Line2D([], [], color="0.6", linewidth=0.8, linestyle=":", label=WIDENED))
    return entries

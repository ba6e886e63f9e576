"""One panel of lines: means with their spread, and marks.

What an axis cannot show is marked: an arrow for a mean beyond the axis, ×k where k runs are lost, ∅k where k
comparisons are invalid, ?k at the lower edge where k references are in doubt. A line is broken where it leaves the
axis. A mean that leaves out runs is drawn hollow: one set of 25 must not hide
the rest, and a mean over the rest must not pass for a mean over all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation, Transform

from tallsbi.study.figures import legend, style
from tallsbi.study.figures.axes import Axis
from tallsbi.study.figures.points import Line, doubtful, points

TIER = 6.0  # points from one mark to the next above it
_CHARACTER = 3.6  # points that a character of a mark is wide
BAND, BARS, NO_SPREAD = "band", "bars", "none"
INVALID = "no valid comparison:\ntoo few samples, or\ndraws that blew up"


@dataclass
class Drawn:
    """What a panel needs beside itself: the kinds of marks in it, and room for those on top of each other."""

    states: set[str] = field(default_factory=set)
    tiers: int = 0

    @property
    def points(self) -> float:
        """The height of the marks above the panel."""
        return TIER * self.tiers

    def add(self, other: Drawn) -> None:
        self.states |= other.states
        self.tiers = max(self.tiers, other.tiers)


@dataclass(frozen=True)
class Panel:
    """Lines of the means of column `y`, a point per value of column `by`.

    `unit` is the column that a mean is taken over (set, seed, classifier), empty if a point is one run; `place`,
    `strict`: see `points`. `every`: all sets, where `frame` has fewer; `best`: the value of a perfect sampler;
    `doubt`: mark references in doubt at every point ("point"), once in the "panel", or not at all; `dodge`: points
    (1/72 inch) between neighbouring lines; `name_absent`: name lines that never have a value; `marks`: off for a
    cost, which lost runs have as well; `under`: draws what lies under the lines.
    """

    frame: pd.DataFrame
    lines: Sequence[Line]
    y: str
    x_axis: Axis
    y_axis: Axis
    by: str = "n"
    place: str | None = None
    unit: str = ""
    strict: bool = False
    every: pd.DataFrame | None = None
    best: float | None = None
    spread: str = BAND
    doubt: str = ""
    dodge: float = 0.0
    name_absent: bool = False
    marks: bool = True
    under: Callable[[Axes], None] | None = None

    def points_of(self, line: Line, frame: pd.DataFrame | None = None) -> pd.DataFrame:
        rows = line.of(self.frame if frame is None else frame)
        return points(rows, self.y, self.by, self.place, strict=self.strict)

    def draw(self, ax: Axes, width: float) -> Drawn:
        """Draws the axes, the lines and the marks."""
        self.x_axis.apply(ax, "x")
        self.y_axis.apply(ax, "y")
        marks = _Marks(ax, self.x_axis, width)
        states = marks.drawn.states
        if self.best is not None:
            ax.axhline(self.best, color="0.6", linewidth=0.6, zorder=1, label="_best")
        if self.y_axis.paper_end is not None:
            ax.axhline(self.y_axis.paper_end, label=f"_{legend.WIDENED}", **legend.DOTTED)
            states.add(legend.WIDENED)
        if self.under is not None:
            self.under(ax)
        shown = [line for line in self.lines if len(line.of(self.frame))]
        if shown and all((cells.invalid == cells.runs).all() for cells in map(self.points_of, shown)):
            note(ax, INVALID, style.NEUTRAL)
            return marks.drawn
        absent = []
        for rank, line in enumerate(shown):
            cells = self.points_of(line)
            shift = _shifted(ax, self.dodge * (rank - (len(shown) - 1) / 2))
            if self.every is not None:
                everyone = self.points_of(line, self.every)
                look = {**legend.ALL_SETS_LOOK, "color": line.look.edge_color, "linestyle": line.look.line}
                ax.plot(
                    everyone.x,
                    self._inside(everyone["mean"]),
                    label=f"_{legend.ALL_SETS} {line.label}",
                    **look,
                    **shift,
                )
                states.add(legend.ALL_SETS)
            self._curve(ax, line, cells, shift)
            if self.marks:
                self._mark(marks, line, cells)
            if (cells.lost == cells.runs).all():
                absent.append(line.label)
        if self.name_absent and absent:
            note(ax, f"lost at every {self.by}:\n" + "\n".join(absent), style.NEUTRAL)
        self._mark_doubt(marks)
        return marks.drawn

    def _curve(self, ax: Axes, line: Line, cells: pd.DataFrame, shift: dict[str, Transform]) -> None:
        """The line with its spread, one standard deviation to either side; hollow where runs are left out."""
        look, mean, std = line.look, self._inside(cells["mean"]), cells["std"]
        bars = self.spread == BARS
        if (std > 0).any() and self.spread != NO_SPREAD:
            if bars:
                keys = {"fmt": "none", "ecolor": look.color, "elinewidth": 0.6, "alpha": 0.7, "zorder": 1.5}
                ax.errorbar(cells.x, mean, std.fillna(0.0), **keys, **shift)
            else:
                # Zero has no place on a logarithmic axis, a point far below it has.
                floor = self.y_axis.limits[0] / 100 if self.y_axis.log else -np.inf
                keys = {"color": look.color, "alpha": style.BAND_ALPHA, "linewidth": 0}
                lower = np.maximum(mean - std, floor)
                ax.fill_between(cells.x, lower, mean + std, label=f"_{line.label}", **keys, **shift)
        if look.edge is not None:
            # The edge colour under a pale line keeps it readable on white.
            wide = {"color": look.edge, "linewidth": 2.0, "alpha": 0.6}
            ax.plot(cells.x, mean, look.line, label="_edge", **wide, **shift)
        keys = {"linestyle": look.line, "alpha": style.LINE_ALPHA} | ({"linewidth": 1.0} if bars else {})
        ax.plot(cells.x, mean, label=line.label, **keys, **legend.symbol(look), **shift)
        if self.marks and cells.incomplete.any():
            hollow = {
                **legend.symbol(look),
                "markerfacecolor": "white",
                "markeredgewidth": 0.9,
                "linestyle": "none",
            }
            ax.plot(
                cells.x[cells.incomplete],
                mean[cells.incomplete],
                label=f"_{legend.PARTIAL}",
                **hollow,
                **shift,
            )

    def _inside(self, means: pd.Series) -> pd.Series:
        """The means on the axis: a line to one beyond it would suggest a value that is not there."""
        low, high = self.y_axis.limits
        return means.where((means >= low) & (means <= high))

    def _mark(self, marks: _Marks, line: Line, cells: pd.DataFrame) -> None:
        """What is to be said of the points beside their places."""
        low, high = self.y_axis.limits
        color = line.look.edge_color
        for cell in cells.itertuples():
            texts = {legend.ABOVE: "↑" if cell.mean > high else ""}
            for kind, sign, count in ((legend.LOST, "×", cell.lost), (legend.INVALID, "∅", cell.invalid)):
                texts[kind] = f"{sign}{count if cell.runs > 1 else ''}" if count else ""
            if any(texts.values()):
                marks.add(
                    cell.x, "".join(texts.values()), color, *(kind for kind, text in texts.items() if text)
                )
            if cell.mean < low:
                marks.add(cell.x, "↓", color, legend.BELOW, top=False)
            if cell.incomplete:
                marks.drawn.states.add(legend.PARTIAL)

    def _mark_doubt(self, marks: _Marks) -> None:
        if self.doubt == "panel":
            low, high = self.x_axis.limits
            groups = [((low * high) ** 0.5 if self.x_axis.log else (low + high) / 2, self.frame)]
        else:
            groups = list(self.frame.groupby(self.by)) if self.doubt else []
        for place, part in groups:
            if count := doubtful(part, self.unit):
                marks.add(place, f"?{count}", style.NEUTRAL, legend.DOUBTFUL, top=False)


class _Marks:
    """The marks of one panel: those that would cover each other stand above each other."""

    def __init__(self, ax: Axes, x_axis: Axis, width: float) -> None:
        self.ax, self.x_axis = ax, x_axis
        self.drawn = Drawn()
        self._room = 0.85 * width * 72
        self._placed: list[tuple[bool, int, float, float]] = []

    def add(self, x: float, text: str, color: object, *kinds: str, top: bool = True) -> None:
        """Puts a mark above the panel, or inside it at the lower edge."""
        place, half = self._room * self.x_axis.share(x), _CHARACTER * len(text) / 2
        taken = {
            tier
            for side, tier, other, reach in self._placed
            if side == top and abs(other - place) < half + reach
        }
        tier = min(set(range(len(taken) + 1)) - taken)
        self._placed.append((top, tier, place, half))
        where = {"xycoords": self.ax.get_xaxis_transform(), "textcoords": "offset points"}
        look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": color, "fontweight": "bold"}
        offset = (0, (2.0 if top else 1.0) + TIER * tier)
        self.ax.annotate(text, (x, float(top)), offset, annotation_clip=False, **where, **look)
        self.drawn.add(Drawn(set(kinds), tier + 1 if top else 0))


def _shifted(ax: Axes, by: float) -> dict[str, Transform]:
    """The transform of a line that is moved by some points to the right."""
    return (
        {"transform": ax.transData + ScaledTranslation(by / 72, 0, ax.figure.dpi_scale_trans)} if by else {}
    )


def note(ax: Axes, text: str, color: object, line: int = 0) -> None:
    """Small text in the upper right corner of a panel, below `line` others."""
    box = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.8}
    place = {"transform": ax.transAxes, "ha": "right", "va": "top", "fontsize": 6.5, "bbox": box}
    ax.text(0.98, 0.97 - 0.11 * line, text, color=color, **place)

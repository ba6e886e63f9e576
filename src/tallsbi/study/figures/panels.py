"""One panel of lines: means with their spread, and marks.

What an axis cannot show is marked: an arrow for a mean beyond the axis, ×k where k runs are lost, ∅k where k
comparisons are invalid, ?k at the lower edge where k references are in doubt. A line is broken where it leaves the
axis. A mean that leaves out runs is drawn hollow: one lost set of 25 must not hide the rest, and a mean over the rest
must not pass for a mean over all.
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
NO_VALID_COMPARISON = "no valid comparison:\ntoo few samples, or\ndraws that blew up"


@dataclass
class PanelMarks:
    """The kinds of marks in a panel, and how many of them stand above each other on top of it (`tiers`)."""

    mark_kinds: set[str] = field(default_factory=set)
    tiers: int = 0

    @property
    def points(self) -> float:
        """The height of the marks above the panel."""
        return TIER * self.tiers

    def add(self, other: PanelMarks) -> None:
        self.mark_kinds |= other.mark_kinds
        self.tiers = max(self.tiers, other.tiers)


@dataclass(frozen=True)
class Panel:
    """Lines of the means of column `y`, a point per value of column `by`.

    `unit` is the column that a mean is taken over (set, seed, classifier), empty if a point is one run; `place`,
    `strict`: see `points`. `all_sets`: the rows of all sets, where `frame` has fewer; `best`: the value of a perfect
    sampler; `doubt`: mark references in doubt at every point ("point"), once in the "panel", or not at all; `dodge`:
    points (1/72 inch) between neighbouring lines; `name_absent`: name lines that never have a value; `marks`: off for
    a cost, which lost runs have as well; `background`: draws what lies under the lines.
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
    all_sets: pd.DataFrame | None = None
    best: float | None = None
    spread: str = BAND
    doubt: str = ""
    dodge: float = 0.0
    name_absent: bool = False
    marks: bool = True
    background: Callable[[Axes], None] | None = None

    def points_of(self, line: Line, frame: pd.DataFrame | None = None) -> pd.DataFrame:
        rows = line.of(self.frame if frame is None else frame)
        return points(rows, self.y, self.by, self.place, strict=self.strict)

    def draw(self, ax: Axes, width: float) -> PanelMarks:
        """Draws the axes, the lines and the marks."""
        self.x_axis.apply(ax, "x")
        self.y_axis.apply(ax, "y")
        placer = _MarkPlacer(ax, self.x_axis, width)
        mark_kinds = placer.marks.mark_kinds
        if self.best is not None:
            ax.axhline(self.best, color="0.6", linewidth=0.6, zorder=1, label="_best")
        if self.y_axis.paper_end is not None:
            ax.axhline(self.y_axis.paper_end, label=f"_{legend.PAPER_AXIS_END}", **legend.PAPER_AXIS_END_LOOK)
            mark_kinds.add(legend.PAPER_AXIS_END)
        if self.background is not None:
            self.background(ax)
        shown = [line for line in self.lines if len(line.of(self.frame))]
        if shown and all((cells.invalid == cells.runs).all() for cells in map(self.points_of, shown)):
            note(ax, NO_VALID_COMPARISON, style.NEUTRAL)
            return placer.marks
        absent = []
        for rank, line in enumerate(shown):
            cells = self.points_of(line)
            shift = _shifted(ax, self.dodge * (rank - (len(shown) - 1) / 2))
            if self.all_sets is not None:
                all_cells = self.points_of(line, self.all_sets)
                look = {**legend.ALL_SETS_LOOK, "color": line.look.edge_color, "linestyle": line.look.line}
                ax.plot(
                    all_cells.x,
                    self._inside(all_cells["mean"]),
                    label=f"_{legend.ALL_SETS} {line.label}",
                    **look,
                    **shift,
                )
                mark_kinds.add(legend.ALL_SETS)
            self._curve(ax, line, cells, shift)
            if self.marks:
                self._mark(placer, line, cells)
            if (cells.lost == cells.runs).all():
                absent.append(line.label)
        if self.name_absent and absent:
            note(ax, f"lost at every {self.by}:\n" + "\n".join(absent), style.NEUTRAL)
        self._mark_doubt(placer)
        return placer.marks

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
                label=f"_{legend.INCOMPLETE_MEAN}",
                **hollow,
                **shift,
            )

    def _inside(self, means: pd.Series) -> pd.Series:
        """The means on the axis: a line to one beyond it would suggest a value that is not there."""
        low, high = self.y_axis.limits
        return means.where((means >= low) & (means <= high))

    def _mark(self, placer: _MarkPlacer, line: Line, cells: pd.DataFrame) -> None:
        """Marks the points beyond the axis, with lost runs or with invalid comparisons."""
        low, high = self.y_axis.limits
        color = line.look.edge_color
        for cell in cells.itertuples():
            texts = {legend.ABOVE_AXIS: "↑" if cell.mean > high else ""}
            for kind, sign, count in (
                (legend.LOST_RUNS, "×", cell.lost),
                (legend.INVALID_COMPARISONS, "∅", cell.invalid),
            ):
                texts[kind] = f"{sign}{count if cell.runs > 1 else ''}" if count else ""
            if any(texts.values()):
                placer.add(
                    cell.x, "".join(texts.values()), color, *(kind for kind, text in texts.items() if text)
                )
            if cell.mean < low:
                placer.add(cell.x, "↓", color, legend.BELOW_AXIS, top=False)
            if cell.incomplete:
                placer.marks.mark_kinds.add(legend.INCOMPLETE_MEAN)

    def _mark_doubt(self, placer: _MarkPlacer) -> None:
        if self.doubt == "panel":
            low, high = self.x_axis.limits
            groups = [((low * high) ** 0.5 if self.x_axis.log else (low + high) / 2, self.frame)]
        else:
            groups = list(self.frame.groupby(self.by)) if self.doubt else []
        for place, part in groups:
            if count := doubtful(part, self.unit):
                placer.add(place, f"?{count}", style.NEUTRAL, legend.DOUBTFUL_REFERENCES, top=False)


class _MarkPlacer:
    """Puts the marks into one panel: those that would cover each other stand above each other."""

    def __init__(self, ax: Axes, x_axis: Axis, width: float) -> None:
        self.ax, self.x_axis = ax, x_axis
        self.marks = PanelMarks()
        self._points_wide = 0.85 * width * 72
        self._placed: list[tuple[bool, int, float, float]] = []

    def add(self, x: float, text: str, color: object, *kinds: str, top: bool = True) -> None:
        """Puts a mark above the panel, or inside it at the lower edge."""
        place, half = self._points_wide * self.x_axis.relative_position(x), _CHARACTER * len(text) / 2
        taken = {
            tier
            for side, tier, other, other_half in self._placed
            if side == top and abs(other - place) < half + other_half
        }
        tier = min(set(range(len(taken) + 1)) - taken)
        self._placed.append((top, tier, place, half))
        coordinates = {"xycoords": self.ax.get_xaxis_transform(), "textcoords": "offset points"}
        look = {"ha": "center", "va": "bottom", "fontsize": 5.5, "color": color, "fontweight": "bold"}
        offset = (0, (2.0 if top else 1.0) + TIER * tier)
        self.ax.annotate(text, (x, float(top)), offset, annotation_clip=False, **coordinates, **look)
        self.marks.add(PanelMarks(set(kinds), tier + 1 if top else 0))


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

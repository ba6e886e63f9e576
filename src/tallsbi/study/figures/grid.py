"""Figures that are a grid of panels, with titles, one legend and a note.

rows = [("SLCP", [Panel(frame[frame.n == n], ...) for n in (1, 8)])]
figure = grid(rows, ["n = 1", "n = 8"], Layout(1, 2), lambda kinds: legend_entries(lines, kinds, "set", {25}))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import Axis
from tallsbi.study.figures.legend import Entry, add_legend, line_entries, mark_entries, spread_entry
from tallsbi.study.figures.limits import warn
from tallsbi.study.figures.panels import PanelMarks
from tallsbi.study.figures.points import Line


@runtime_checkable
class Cell(Protocol):
    """A panel of a grid."""

    x_axis: Axis
    y_axis: Axis

    def draw(self, ax: Axes, width: float) -> PanelMarks:
        """Draws into a panel about `width` inches wide."""


@dataclass(frozen=True)
class Layout:
    """The size of a panel in inches, from least and largest sizes, for a page about 7 wide and 7.5 high."""

    rows: int
    columns: int
    widths: tuple[float, float] = (1.3, 2.4)
    heights: tuple[float, float] = (1.1, 1.7)

    @property
    def width(self) -> float:
        return float(np.clip(6.9 / self.columns, *self.widths))

    @property
    def height(self) -> float:
        return float(np.clip(7.5 / self.rows, *self.heights))


def legend_entries(
    lines: Sequence[Line],
    mark_kinds: set[str],
    unit: str = "",
    counts: Collection[int] = (1,),
    *,
    bars: bool = False,
) -> list[Entry]:
    """Entries for lines, spread and marks. `counts`: over how many units the means of the rows are taken."""
    spread = [spread_entry(unit, counts, bars=bars)] if unit else []
    return [*line_entries(lines), *spread, *mark_entries(mark_kinds, counted=max(counts) > 1)]


def grid(
    rows: Sequence[tuple[str, Sequence[Cell]]],
    columns: Sequence[str],
    layout: Layout,
    entries: Callable[[set[str]], Sequence[Entry]],
    *,
    label: str = "",
    note: str = "",
    warnings: Sequence[str] = (),
) -> Figure:
    """The figure: rows of panels with a title each, and a title per column.

    `entries`: the legend, given the kinds of marks that occur; `label`: of the y axes, if they all show the same;
    `note`: stands above the legend; `warnings`: see `limits`. A panel has no names at its ticks if the first of its
    row, or the last of its column, has the same axis.
    """
    with style.context():
        figure = Figure(layout="constrained")
        # Equal axes are set one by one: the work for shared ones grows with the square of their number.
        axes = figure.subplots(layout.rows, layout.columns, squeeze=False)
        all_marks, mark_heights = PanelMarks(), []
        for row_axes, (title, cells) in zip(axes, rows, strict=True):
            row_marks = PanelMarks()
            for ax, cell in zip(row_axes, cells, strict=True):
                row_marks.add(cell.draw(ax, layout.width))
                _name_axes(ax, cell, cells[0], rows[-1][1][ax.get_subplotspec().colspan.start])
            if title:
                style.row_title(row_axes[-1], title)
            mark_heights.append(row_marks.points)
            all_marks.add(row_marks)
        for ax, title in zip(axes[0], columns, strict=True):
            ax.set_title(title, pad=5 + mark_heights[0])
        width = max(layout.width * layout.columns + 0.9, 5.0)
        legend_rows = add_legend(figure, entries(all_marks.mark_kinds), width, note)
        height = layout.height * layout.rows + sum(mark_heights) / 72 + 0.65 + warn(figure, *warnings)
        figure.set_size_inches(width, height + 0.17 * (legend_rows + note.count("\n") + bool(note)))
        if label:
            figure.supylabel(label.replace(" − ", "\n− ") if layout.rows == 1 else label)
    return figure


def _name_axes(ax: Axes, cell: Cell, first: Cell, last: Cell) -> None:
    """Labels and names at the ticks; `first` of the row, `last` of the column."""
    if cell is last:
        ax.set_xlabel(cell.x_axis.label)
    if cell is first or cell.y_axis != first.y_axis:
        ax.set_ylabel(cell.y_axis.label)
    ax.tick_params(
        labelbottom=cell is last or cell.x_axis != last.x_axis,
        labelleft=cell is first or cell.y_axis != first.y_axis,
    )

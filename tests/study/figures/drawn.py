"""What a drawn figure shows, for the tests: lines, marks and legend by name."""

from dataclasses import replace
from importlib import import_module

import numpy as np
from config_files import resolved
from matplotlib.colors import to_rgba
from paths import ROOT

from tallsbi.study import artifacts
from tallsbi.study.figures import style
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.artifacts import TaskRows

CAPTIONS = ROOT / "workflow" / "report"


def declared(**changes):
    """The tables and figures of the smoke scale, with changes to the configuration."""
    return artifacts.read(ROOT, Study(resolved(**changes))).artifacts


DECLARED = declared()


def draw(name, data, settings):
    """The figure of this id, as it is declared."""
    artifact = DECLARED[name]
    function = getattr(import_module(artifact.module), artifact.function.rpartition(".")[2])
    if isinstance(artifact.settings, TaskRows) and not settings.runs:
        settings = replace(settings, runs=artifact.settings.runs)
    return function(data, settings, **artifact.arguments)


def caption(name):
    """The words of its caption."""
    return " ".join((CAPTIONS / f"{name}.rst").read_text(encoding="utf-8").split())


def panels(figure, rows, columns):
    """The panels by row and column; -1: as many as there are."""
    return np.array(figure.axes).reshape(rows, columns)


def smallest_panel(figure):
    """Width and height in pixels, each of the panel with the least of it."""
    boxes = [ax.get_window_extent() for ax in figure.axes]
    return min(box.width for box in boxes), min(box.height for box in boxes)


def png(figure, path):
    """The bytes of the picture."""
    with style.context():
        figure.savefig(path, metadata={"Software": "t"})
    return path.read_bytes()


def lines(ax):
    """The lines with a name, by name."""
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def labelled(ax, label):
    """The one line with a label."""
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


def mark_texts(ax):
    """The texts that are marks; the title of a row is none."""
    return [text for text in ax.texts if text.get_text()[0] in "↑↓×∅?" and hasattr(text, "xy")]


def marks(ax):
    """(place, text) of the marks of a panel."""
    return sorted((float(text.xy[0]), text.get_text()) for text in mark_texts(ax))


def mark_colors(ax):
    """(place, text, colour) of the marks of a panel."""
    return sorted((text.xy[0], text.get_text(), to_rgba(text.get_color())) for text in mark_texts(ax))


def row_title(ax):
    return ax.texts[-1].get_text()


def legend_labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]

"""What every figure shares: fonts and sizes, and the colour, marker and name of each thing drawn."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import matplotlib
from matplotlib.axes import Axes

from tallsbi.algorithms import CLIP_SUFFIX, base_name

LINE_ALPHA = 0.9
BAND_ALPHA = 0.13
NEUTRAL = "0.3"  # the grey of everything that belongs to no method

RC = {
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "figure.labelsize": 9.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "svg.hashsalt": "tallsbi",
}


@dataclass(frozen=True)
class Look:
    """How one line is drawn: its colour, marker, marker size (points), line style and marker edge."""

    color: str | tuple[float, ...]
    marker: str
    size: float = 4.0
    line: str | tuple = "-"
    edge: str | tuple[float, ...] | None = None

    @property
    def edge_color(self) -> str | tuple[float, ...]:
        return self.color if self.edge is None else self.edge


METHODS = {
    "GAUSS": Look("tab:blue", "*", size=6.5),
    "GAUSS (CFG)": Look("#00BBFF", "*", size=6.5),
    "GAUSS_WHITENED": Look("#4C4CFF", "s"),
    "GAUSS_PD": Look("#123A7A", "D", size=4.2),
    "JAC": Look("tab:orange", "^", size=4.5),
    "JAC_PD": Look("#A34700", "v", size=4.5),
    "LANGEVIN": Look("#92374D", "o"),
    "TAMED": Look("#E5A4CB", "o", edge="#B8699A"),
    "DET_GEF": Look("lightgreen", "P", size=5.0, edge="#3C8F3C"),
}
_OTHER_COLORS = ("#6A3D9A", "#000000", "#D62728", "#008080", "#7F7F00", "#555555", "#C218C2")
_OTHER_MARKERS = ("s", "D", "v", "p", "h", "d")
_LINES_BY_STEPS = ("-", "-.", ":")  # one method with several T
_CLIPPED_LINES = ("--", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))

METRICS = {
    "max_sw_norm": "max-sliced Wasserstein − self-distance",
    "sw_norm": "sliced Wasserstein − self-distance",
    "max_sw": "max-sliced Wasserstein",
    "sw": "sliced Wasserstein",
}
GAUSSIANS = {"wide": "gaussian-wide", "standard": "gaussian-standard"}
PRIORS = {"wide": "wide prior", "standard": "prior N(0, I)"}


def method_look(method: str, rank: int = 0) -> Look:
    """The look of a method; one that is not listed gets colour and marker from its name alone.

    `rank` tells apart the lines of one method with several T: 0 is the one with the most steps.
    """
    lines = _CLIPPED_LINES if method.endswith(CLIP_SUFFIX) else _LINES_BY_STEPS
    look = METHODS.get(base_name(method)) or _look_from_name(base_name(method))
    return replace(look, line=lines[rank % len(lines)])


def _look_from_name(method: str) -> Look:
    colors = len(_OTHER_COLORS)
    code = zlib.crc32(method.encode())
    return Look(_OTHER_COLORS[code % colors], _OTHER_MARKERS[code // colors % len(_OTHER_MARKERS)])


def method_label(method: str, steps: int) -> str:
    """`GAUSS (1000)`: the method and its number T of time steps."""
    return f"{method} ({int(steps)})"


def noise_look(noise: float) -> Look:
    """The colour of a noise level, from blue (1) to red (none); neighbouring decades differ in marker."""
    color = matplotlib.colormaps["coolwarm"](-math.log10(noise + 1e-5) / 5)
    marker = "o" if noise == 0 else "D^vs"[round(-math.log10(noise)) % 4]
    return Look(color, marker, size=3.8, edge=tuple(0.7 * part for part in color[:3]))


def noise_label(noise: float) -> str:
    """`0`, `1e-3`, `2.5e-2`."""
    if noise == 0:
        return "0"
    mantissa, exponent = f"{noise:.6e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def title(column: str, value: float) -> str:
    """The title of a row or column of panels: `ε = 1e-3`, `m = 10`, `n = 4`."""
    return f"ε = {noise_label(value)}" if column == "noise" else f"{column} = {int(value)}"


def row_title(ax: Axes, text: str) -> None:
    """A title to the right of the last panel of a row."""
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (1, 0.5), (7, 0), rotation=270, multialignment="center", **place)


@contextmanager
def context() -> Iterator[None]:
    """Our settings on top of matplotlib's defaults, whatever the user's own settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield

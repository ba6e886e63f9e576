"""The axes of panels: where they end, where they have ticks, and what the ticks are called."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter, NullLocator

COARSE_STEPS = (1.0, 2.0, 5.0, 10.0)
FINE_STEPS = (1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
MARGIN = 1.4  # factor from the outermost point to the end of a logarithmic axis
X_LABELS = {
    "n": "observations n",
    "n_train": r"simulations $N_\mathrm{train}$",
    "steps": "time steps T",
    "seconds": "seconds per posterior",
}


@dataclass(frozen=True)
class Axis:
    """Limits, ticks (None: as matplotlib chooses on a logarithmic axis) with their names, and label of one axis.

    It is linear, logarithmic (`log`), or logarithmic above `linear_up_to`. `paper_end` is where the paper's axis
    ends if this one goes on: a dotted line is drawn there.
    """

    limits: tuple[float, float]
    ticks: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None
    log: bool = False
    linear_up_to: float | None = None
    paper_end: float | None = None
    label: str = ""

    def apply(self, ax: Axes, name: str) -> None:
        """Sets up the axis `x` or `y` of a panel."""
        axis = getattr(ax, f"{name}axis")
        if self.log:
            getattr(ax, f"set_{name}scale")("log")
        elif self.linear_up_to is not None:
            getattr(ax, f"set_{name}scale")("symlog", linthresh=self.linear_up_to, linscale=0.8)
        getattr(ax, f"set_{name}lim")(*self.limits)
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        if self.ticks is not None:
            labels = self.names or [f"{tick:g}".replace("-", "−") for tick in self.ticks]
            axis.set_ticks(self.ticks, labels)
            return
        # Within a decade or so, powers of ten alone are too few to read values by.
        narrow = self.limits[1] / self.limits[0] < 40
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=6))
        axis.set_major_formatter((lambda value, _: f"{value:g}") if narrow else LogFormatterSciNotation())
        if not narrow:
            axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=6))

    def relative_position(self, value: float) -> float:
        """Where a value lies between the ends of a linear or logarithmic axis: 0 to 1."""
        low, high, place = (math.log(end) if self.log else end for end in (*self.limits, value))
        return (place - low) / (high - low)


def ticked_axis(
    values: Iterable[float], width: float, label: str = "", *, log: bool = True, margin: float = MARGIN
) -> Axis:
    """An axis with ticks at the values, named as far as the names fit into a panel `width` inches wide."""
    ticks = tuple(sorted(values))
    extra = 0.09 * max(ticks[-1] - ticks[0], 1)
    limits = (ticks[0] / margin, ticks[-1] * margin) if log else (ticks[0] - extra, ticks[-1] + extra)
    axis = Axis(limits, ticks, log=log, label=label)
    names, room_end = [], math.inf
    for tick in reversed(ticks):
        name = short_number(tick)
        place, half = 0.85 * width * axis.relative_position(tick), 0.035 * len(name)
        fits = place + half < room_end
        names.append(name if fits else "")
        room_end = place - half - 0.03 if fits else room_end
    return Axis(limits, ticks, tuple(reversed(names)), log=log, label=label)


def logarithmic_axis(values: Iterable[float], label: str = "", *, decades: float = math.inf) -> Axis:
    """A logarithmic axis around all positive values, or around those within `decades` of the smallest."""
    numbers = np.asarray(list(values), float)
    positive = numbers[np.isfinite(numbers) & (numbers > 0)]
    if len(positive) == 0:
        return Axis((0.1, 1.0), log=True, label=label)
    highest = positive[np.log10(positive / positive.min()) <= decades].max()
    return Axis((positive.min() / MARGIN, highest * MARGIN), log=True, label=label)


def axis_from_zero(end: float, label: str = "", *, below: float = 0.04, above: float = 0.04) -> Axis:
    """From 0 to `end`, longer by shares of `end` `below` and `above`, so that points at the ends are seen whole."""
    return Axis((-below * end, (1 + above) * end), (0.0, end / 2, end), label=label)


def round_up(value: float, steps: Sequence[float] = COARSE_STEPS) -> float:
    """The next number that is one of the steps times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in steps if value <= step * power * (1 + 1e-9))


def short_number(value: float) -> str:
    """`30k` for 30000."""
    return f"{value / 1000:g}k" if value >= 1000 and value % 1000 == 0 else f"{value:g}"

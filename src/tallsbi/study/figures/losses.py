"""Loss curves of score networks for one batch size (appendix on training): rows tasks, columns N_train.

Losses are noisy, so the validation loss is drawn twice: faintly as it is, thinned, and as a running mean. It is
taken every few epochs and after the last one; where that one is missing, the training diverged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tallsbi.study.figures import style
from tallsbi.study.figures.axes import Axis, round_up
from tallsbi.study.figures.grid import Layout, grid
from tallsbi.study.figures.legend import PAPER_AXIS_END, PAPER_AXIS_END_LOOK
from tallsbi.study.figures.panels import PanelMarks, note
from tallsbi.study.settings.artifacts import TaskRows

PAPER_END = 0.5
_COLORS = {0.0001: "tab:blue", 0.001: "tab:orange"}
_OTHER_COLORS = ("tab:green", "tab:red", "tab:purple", "tab:brown")
_ALPHA = {"train_loss": 0.3, "val_loss": 0.9}
_RAW_ALPHA = 0.15
_MAX_POINTS = 400  # of a drawn curve, at most
_WINDOW_SHARE = 1 / 50  # of the epochs, for the running mean
_USED_LOOK = {"linestyle": "none", "marker": "v", "markersize": 4.0}


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows, *, batch_size: int | None = None) -> Figure:
    """The networks of one batch size; without it, those of the only one there is."""
    losses = data["losses"]
    sizes = sorted(set(losses.batch_size.tolist()))
    if batch_size is None and len(sizes) != 1:
        raise ValueError(
            f"batch_size = {sizes}: the figure shows the networks of one batch size; train with one only"
        )
    size = sizes[0] if batch_size is None else batch_size
    losses = losses[(losses.batch_size == size) & losses.task.isin(settings.tasks)]
    if losses.empty:
        raise ValueError(
            f"batch_sizes = {sizes}: no network of these tasks was trained with batches of {size}, which this figure "
            "shows; add it to the grid of training settings"
        )
    tasks = settings.present(losses.task, "losses")
    budgets, rates = (sorted(losses[name].unique().tolist()) for name in ("n_train", "learning_rate"))
    colors = dict(zip(rates, cycle(_OTHER_COLORS), strict=False)) | _COLORS
    layout = Layout(len(tasks), len(budgets), heights=(1.7, 1.7))
    end = float(losses.epoch.max())
    ticks = tuple(tick for tick in MaxNLocator(3, integer=True).tick_values(0, end) if 0 <= tick <= end)
    x_axis = Axis((-0.04 * end, 1.04 * end), ticks, label="epoch")
    rows = []
    for task in tasks:
        frame = losses[losses.task == task]
        y_axis = _axis(frame)
        panels = [LossPanel(frame[frame.n_train == budget], colors, x_axis, y_axis) for budget in budgets]
        rows.append((settings.labels[task], panels))
    return grid(
        rows,
        [rf"$N_\mathrm{{train}}$ = {budget}" for budget in budgets],
        layout,
        lambda mark_kinds: _entries({rate: colors[rate] for rate in rates}, PAPER_AXIS_END in mark_kinds),
        label=f"denoising loss, batch size {size}",
    )


def running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Mean over a centred window of `window` values; at both ends over the part of it that has values."""
    window = min(window, len(values))
    kernel = np.ones(window)
    return np.convolve(values, kernel, "same") / np.convolve(np.ones(len(values)), kernel, "same")


def smoothed(curve: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs at which one loss of one network was taken, in order, and its running mean there."""
    known = curve[curve[column].notna()]
    values = running_mean(known[column].to_numpy(float), max(1, round(len(known) * _WINDOW_SHARE)))
    return known.epoch.to_numpy(), values


def _axis(frame: pd.DataFrame) -> Axis:
    """From 0 to the paper's end, unless most validation losses of the row end above it."""
    curves = frame.sort_values("epoch").groupby(["n_train", "learning_rate"])
    values = [smoothed(curve, "val_loss")[1] for _, curve in curves]
    ends = np.array([curve_values[-1] for curve_values in values if len(curve_values)])
    finite = ends[np.isfinite(ends)]
    widened = len(finite) > 0 and np.mean(finite > PAPER_END) > 0.5
    end = round_up(float(finite.max())) if widened else PAPER_END
    ticks = tuple(tick for tick in MaxNLocator(5).tick_values(0, end) if tick <= end)
    return Axis((0, end), ticks, paper_end=PAPER_END if widened else None)


@dataclass(frozen=True)
class LossPanel:
    """The curves of all learning rates of one (task, N_train)."""

    frame: pd.DataFrame
    colors: Mapping[float, str]
    x_axis: Axis
    y_axis: Axis

    def draw(self, ax: Axes, width: float) -> PanelMarks:
        """Draws the curves, and says what the axis cannot show of them."""
        self.x_axis.apply(ax, "x")
        self.y_axis.apply(ax, "y")
        marks = PanelMarks(tiers=1)  # of the symbol above the panel
        if self.y_axis.paper_end is not None:
            ax.axhline(self.y_axis.paper_end, label=f"_{PAPER_AXIS_END}", **PAPER_AXIS_END_LOOK)
            marks.mark_kinds.add(PAPER_AXIS_END)
        if self.frame.empty:
            ax.text(0.5, 0.5, "not trained", transform=ax.transAxes, ha="center", color=style.NEUTRAL)
        for tier, (rate, curve) in enumerate(self.frame.groupby("learning_rate")):
            curve, color = curve.sort_values("epoch"), self.colors[rate]
            _curves(ax, curve, color, f"{rate:g}")
            if text := _off_axis(curve, self.y_axis.limits[1]):
                note(ax, text, color, tier)
        return marks


def _curves(ax: Axes, curve: pd.DataFrame, color: str, name: str) -> None:
    raw = curve.loc[curve.val_loss.notna(), ["epoch", "val_loss"]].to_numpy(float)[:: _stride(curve.val_loss)]
    ax.plot(*raw.T, color=color, linewidth=0.5, alpha=_RAW_ALPHA, label=f"_raw val_loss {name}")
    for column, alpha in _ALPHA.items():
        epochs, smooth = (part[:: _stride(curve[column])] for part in smoothed(curve, column))
        ax.plot(epochs, smooth, color=color, linewidth=1.3, alpha=alpha, label=f"_{column} {name}")
    stop = float(curve.stop_epoch.iloc[0])
    ax.axvline(stop, color=color, linestyle="--", linewidth=1.0, label=f"_stop {name}")
    if bool(curve.chosen.iloc[0]):
        place = {"clip_on": False, "transform": ax.get_xaxis_transform()}
        ax.plot([stop], [1.03], color=color, label=f"_chosen {name}", **_USED_LOOK, **place)


def _stride(values: pd.Series) -> int:
    """The stride that thins a curve to the points one can see."""
    return max(1, -(-int(values.notna().sum()) // _MAX_POINTS))


def _off_axis(curve: pd.DataFrame, upper: float) -> str:
    """What the axis cannot show of the validation loss: where it ends, if above; that its end is not finite."""
    if not np.isfinite(curve.val_loss.iloc[-1]):
        return "diverged"
    end = smoothed(curve, "val_loss")[1][-1]
    return f"↑ ends at {end:.2g}" if end > upper else ""


def _entries(colors: Mapping[float, str], widened: bool) -> list[Line2D]:
    rates = [Line2D([], [], color=color, label=f"learning rate {rate:g}") for rate, color in colors.items()]
    looks = {
        "training": {"alpha": _ALPHA["train_loss"]},
        "validation": {"alpha": _ALPHA["val_loss"]},
        "unsmoothed": {"alpha": 0.25, "linewidth": 0.5},
        "weights kept": {"linestyle": "--", "linewidth": 1.0},
        "network used": _USED_LOOK,
        **({PAPER_AXIS_END: PAPER_AXIS_END_LOOK} if widened else {}),
    }
    return [
        *rates,
        *(Line2D([], [], label=label, **{"color": "black", **look}) for label, look in looks.items()),
    ]

"""Loss curves of the benchmark's networks for one batch size (appendix on training): rows tasks, columns N_train.

Losses are noisy, so the validation loss is drawn twice: faintly as it is, thinned, and as a running mean. It is
taken every few epochs and after the last one; where that one is missing, the training diverged.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tallsbi.study.figures import style
from tallsbi.study.figures.benchmark_cells import round_up
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.figures.panels import row_title

UPPER = 0.5
_COLORS = {0.0001: "tab:blue", 0.001: "tab:orange"}
_OTHER_COLORS = ("tab:green", "tab:red", "tab:purple", "tab:brown")
_ALPHA = {"train_loss": 0.3, "val_loss": 0.9}
_RAW_ALPHA = 0.15
_POINTS = 400  # of a drawn curve, at most
_WINDOW = 1 / 50  # of the epochs, for the running mean


def grid(losses: pd.DataFrame, settings: Mapping[str, Any], batch_size: int) -> Figure:
    """The figure of one batch size."""
    mine = losses[(losses.batch_size == batch_size) & losses.task.isin(settings["tasks"])]
    if mine.empty:
        raise ValueError(
            f"batch_sizes = {sorted(set(losses.batch_size.tolist()))}: no network of the main tasks was trained with "
            f"batches of {batch_size}, which this figure shows; add it to the grid of training settings"
        )
    tasks = [task for task in settings["tasks"] if task in set(mine.task)]
    budgets, rates = (sorted(mine[name].unique().tolist()) for name in ("n_train", "learning_rate"))
    looks = dict(zip(rates, cycle(_OTHER_COLORS), strict=False)) | _COLORS
    with style.context():
        width = float(np.clip(6.9 / len(budgets), 1.3, 2.4))
        figure = Figure(layout="constrained")
        axes = figure.subplots(len(tasks), len(budgets), squeeze=False)
        for row, task in zip(axes, tasks, strict=True):
            frame = mine[mine.task == task]
            upper = _upper(frame)
            for ax, budget in zip(row, budgets, strict=True):
                _panel(ax, frame[frame.n_train == budget], looks, upper)
            row_title(row[-1], settings["labels"].get(task, task))
        for ax, budget in zip(axes[0], budgets, strict=True):
            ax.set_title(rf"$N_\mathrm{{train}}$ = {budget}", pad=14)
        for ax in axes.flat:
            ax.label_outer()
        for ax in axes[-1]:
            ax.set_xlabel("epoch")
        total = max(width * len(budgets) + 0.9, 5.0)
        rows = add_legend(figure, _handles({rate: looks[rate] for rate in rates}), total)
        figure.set_size_inches(total, 1.7 * len(tasks) + 0.7 + 0.17 * rows)
        figure.supylabel(f"denoising loss, batch size {batch_size}")
    return figure


def running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Mean over a centred window of at most `window` values; at both ends over what there is of it."""
    window = min(window, len(values))
    kernel = np.ones(window)
    return np.convolve(values, kernel, "same") / np.convolve(np.ones(len(values)), kernel, "same")


def smoothed(curve: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs at which one loss of one network was taken, in order, and its running mean there."""
    taken = curve[curve[column].notna()]
    values = running_mean(taken[column].to_numpy(float), max(1, round(len(taken) * _WINDOW)))
    return taken.epoch.to_numpy(), values


def _upper(frame: pd.DataFrame) -> float:
    """The end of a row's axis: the paper's, unless most of its validation losses end above it."""
    curves = frame.sort_values("epoch").groupby(["n_train", "learning_rate"])
    values = [smoothed(curve, "val_loss")[1] for _, curve in curves]
    ends = np.array([one[-1] for one in values if len(one)])
    finite = ends[np.isfinite(ends)]
    return round_up(float(finite.max())) if len(finite) and np.mean(finite > UPPER) > 0.5 else UPPER


def _panel(ax: Axes, frame: pd.DataFrame, looks: Mapping[float, Any], upper: float) -> None:
    """The curves of all learning rates of one (task, N_train)."""
    ax.set_ylim(0, upper)
    if upper > UPPER:
        ax.axhline(UPPER, color="0.6", linewidth=0.8, linestyle=":", label="_paper's axis ends")
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    if frame.empty:
        ax.text(0.5, 0.5, "not trained", transform=ax.transAxes, ha="center", color=style.NEUTRAL)
        return
    for tier, (rate, curve) in enumerate(frame.groupby("learning_rate")):
        _curves(ax, curve.sort_values("epoch"), looks[rate], f"{rate:g}", tier)


def _curves(ax: Axes, curve: pd.DataFrame, color: Any, name: str, tier: int) -> None:
    raw = curve.loc[curve.val_loss.notna(), ["epoch", "val_loss"]].to_numpy(float)[:: _every(curve.val_loss)]
    ax.plot(*raw.T, color=color, linewidth=0.5, alpha=_RAW_ALPHA, label=f"_raw val_loss {name}")
    for column, alpha in _ALPHA.items():
        epochs, smooth = (part[:: _every(curve[column])] for part in smoothed(curve, column))
        ax.plot(epochs, smooth, color=color, linewidth=1.3, alpha=alpha, label=f"_{column} {name}")
    chosen = bool(curve.chosen.iloc[0])
    stop = float(curve.stop_epoch.iloc[0])
    ax.axvline(stop, color=color, linestyle="--", linewidth=1.0, label=f"_stop {name}")
    if chosen:
        mark = {"marker": "v", "markersize": 4.0, "clip_on": False, "transform": ax.get_xaxis_transform()}
        ax.plot([stop], [1.03], color=color, linestyle="none", label=f"_chosen {name}", **mark)
    note = _off_axis(curve, ax.get_ylim()[1])
    if note:
        place = {"transform": ax.transAxes, "ha": "right", "va": "top", "fontsize": 6.5}
        place |= {"bbox": {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.8}}
        ax.text(0.98, 0.97 - 0.11 * tier, note, color=color, **place)


def _every(values: pd.Series) -> int:
    """The stride that thins a curve to the points one can see."""
    return max(1, -(-int(values.notna().sum()) // _POINTS))


def _off_axis(curve: pd.DataFrame, upper: float) -> str:
    """What the axis cannot show of the validation loss: where it ends, if above; that its end is not finite."""
    if not np.isfinite(curve.val_loss.iloc[-1]):
        return "diverged"
    end = smoothed(curve, "val_loss")[1][-1]
    return f"↑ ends at {end:.2g}" if end > upper else ""


def _handles(looks: Mapping[float, Any]) -> list[Line2D]:
    rates = [Line2D([], [], color=color, label=f"learning rate {rate:g}") for rate, color in looks.items()]
    grey = {"color": "black"}
    return [
        *rates,
        Line2D([], [], alpha=_ALPHA["train_loss"], label="training", **grey),
        Line2D([], [], alpha=_ALPHA["val_loss"], label="validation", **grey),
        Line2D([], [], alpha=0.25, linewidth=0.5, label="unsmoothed", **grey),
        Line2D([], [], linestyle="--", linewidth=1.0, label="weights kept", **grey),
        Line2D([], [], linestyle="none", marker="v", markersize=4.0, label="network used", **grey),
    ]

"""Reference posterior and GAUSS for growing n, one parameter set per task (appendix).

The reference is filled, GAUSS is outlined, so that both can be seen in the same panel. On and below the
diagonal are all n in one window; above it the largest n alone, enlarged around the true parameter, because
next to the posterior of one observation it is little more than a dot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tallsbi.study.figures import density, style
from tallsbi.study.figures.density import MIN_DRAWS, SHARES
from tallsbi.study.figures.limits import shortfall, warn
from tallsbi.study.settings.artifacts import TaskRows

REFERENCE, METHOD = "reference", "GAUSS"
_COLOR_MAPS = {REFERENCE: "Greens", METHOD: "Blues"}
_PANEL, _GAP = 0.8, 0.45  # inches
_TRUTH_LOOK = {"color": "black", "linewidth": 0.7, "linestyle": ":"}


@dataclass(frozen=True)
class Block:
    """One task: finite samples [S, m] by (n, source), and the true parameter."""

    title: str
    names: tuple[str, ...]
    clouds: Mapping[tuple[int, str], Float[np.ndarray, "_ m"]]
    theta: Float[np.ndarray, "m"]

    @property
    def counts(self) -> list[int]:
        return sorted({n for n, _ in self.clouds})


def draw(data: Mapping[str, pd.DataFrame], settings: TaskRows) -> Figure:
    """The tasks side by side, each a square of panels."""
    pairs, truth = data["pairs"], data["truth"]
    blocks = [
        _block(pairs[pairs.task == task], truth[truth.task == task], settings.labels[task])
        for task in settings.present(pairs.task, "samples")
    ]
    sizes = [len(block.names) for block in blocks]
    counts = sorted({n for block in blocks for n in block.counts})
    width, height = _PANEL * sum(sizes) + _GAP * len(sizes), _PANEL * max(sizes) + 1.2
    warning = shortfall(pd.DataFrame({"samples": [pairs["sample"].nunique()]}), "samples")
    with style.context():
        figure = Figure()
        height += warn(figure, warning)
        figure.set_size_inches(width, height)
        left = _GAP
        for block, size in zip(blocks, sizes, strict=True):
            # Placed by hand: panels are equally large in blocks of different size, on a common lower edge.
            _square(figure, block, left / width, 0.8 / height, _PANEL / width, _PANEL / height)
            left += _PANEL * size + _GAP
        title = f"above the diagonals: n = {counts[-1]} alone, enlarged around the true parameter"
        figure.legend(
            handles=_handles(counts),
            loc="lower center",
            ncols=min(2 * len(counts) + 1, int(width / 1.3)),
            title=title,
            title_fontsize=7.5,
            frameon=False,
        )
    return figure


def _block(pairs: pd.DataFrame, truth: pd.DataFrame, label: str) -> Block:
    names = tuple(truth.parameter)
    clouds, lost = {}, 0
    for (n, source), part in pairs.groupby(["n", "source"]):
        clouds[int(n), source], finite = density.cloud(part, "sample", names)
        lost += int((~finite).sum())
    title = f"{label}, set {int(pairs.set.iloc[0]) + 1}" + (f"\n{lost} samples not finite" if lost else "")
    return Block(title, names, clouds, truth.value.to_numpy(float))


def _square(figure: Figure, block: Block, left: float, bottom: float, width: float, height: float) -> None:
    """The panels of one task; position and size of a panel in shares of the figure."""
    size = len(block.names)
    windows = [_window(block, index) for index in range(size)]
    enlarged = [_enlarged(block, index) for index in range(size)]
    for row, column in product(range(size), range(size)):
        place = (left + column * width, bottom + (size - 1 - row) * height, 0.94 * width, 0.94 * height)
        ax = figure.add_axes(place)
        ax.set(xticks=[], yticks=[])
        if row == column:
            _marginals(ax, block, row)
        elif row > column:
            _contours(ax, block, column, row, block.counts)
            ax.set_ylim(windows[row])
        else:
            _contours(ax, block, column, row, block.counts[-1:])
            ax.set(ylim=enlarged[row], facecolor="0.965")
        ax.set_xlim(enlarged[column] if row < column else windows[column])
        if row == size - 1:
            ax.set_xlabel(symbol(block.names[column]), labelpad=2)
        if column == 0:
            ax.set_ylabel(symbol(block.names[row]), labelpad=2)
        if row == column == 0:
            ax.set_title(block.title, loc="left")


def symbol(name: str) -> str:
    r"""A parameter's name as mathtext: `$\theta_{1}$` for theta_1."""
    letter, _, index = name.partition("_")
    return rf"$\{letter}_{{{index}}}$" if index else rf"$\{letter}$"


def shade(source: str, n: int, counts: Sequence[int]) -> tuple[float, ...]:
    """Dark for the smallest n, light for the largest, as in the paper; the lightest still shows on white."""
    return density.shade(_COLOR_MAPS[source], (0.95, 0.5), n, counts)


def _window(block: Block, index: int) -> tuple[float, float]:
    """Room for the reference posteriors of all n and for the true parameter."""
    references = [cloud[:, index] for (_, source), cloud in block.clouds.items() if source == REFERENCE]
    ends = np.array([np.quantile(values, (0.005, 0.995)) for values in references])
    low, high = min(ends[:, 0].min(), block.theta[index]), max(ends[:, 1].max(), block.theta[index])
    margin = 0.15 * (high - low)
    return float(low - margin), float(high + margin)


def _enlarged(block: Block, index: int) -> tuple[float, float]:
    """A window of the width of the largest n's mode around the true parameter, up to three times as wide if GAUSS lies
    beside it."""
    n, theta = block.counts[-1], block.theta[index]
    half = 4.5 * density.mode_width(block.clouds[n, REFERENCE][:, index])
    method = block.clouds.get((n, METHOD))
    if method is not None and len(method) >= MIN_DRAWS:
        # Half of the samples may be in another mode, so only the nearer ones count.
        nearer = float(np.quantile(np.abs(method[:, index] - theta), 0.4))
        half = float(np.clip(2 * nearer, half, 3 * half))
    return float(theta - half), float(theta + half)


def _contours(ax: Axes, block: Block, first: int, second: int, counts: Sequence[int]) -> None:
    for source, n in product((REFERENCE, METHOD), counts):
        cloud = block.clouds.get((n, source))
        if cloud is None or len(cloud) < MIN_DRAWS:
            continue
        color = shade(source, n, block.counts)
        x, y, height = density.joint(cloud[:, [first, second]])
        levels = density.levels(height, SHARES)
        if source == REFERENCE:
            colors = [(*color[:3], alpha) for alpha in (0.4, 0.8)]
            ax.contourf(x, y, height.T, [*levels, 1.01 * height.max()], colors=colors)
        else:
            ax.contour(x, y, height.T, levels, colors=[color], linewidths=[0.7, 1.1])
    ax.plot(*block.theta[[first, second]], marker="o", markersize=2.2, color="black", label="_truth")


def _marginals(ax: Axes, block: Block, index: int) -> None:
    """Both densities of an n on one scale, on which the reference has height 1."""
    for n in block.counts:
        top = 1.0
        for source in (REFERENCE, METHOD):
            cloud = block.clouds.get((n, source))
            if cloud is None or len(cloud) < MIN_DRAWS:
                continue
            x, height = density.marginal(cloud[:, index])
            top = height.max() if source == REFERENCE else top
            color = shade(source, n, block.counts)
            if source == REFERENCE:
                ax.fill_between(x, height / top, color=color, alpha=0.45, linewidth=0, label=f"_{source} {n}")
            else:
                ax.plot(x, height / top, color=color, linewidth=1.0, label=f"_{source} {n}")
    ax.axvline(block.theta[index], label="_truth", **_TRUTH_LOOK)
    ax.set_ylim(0, 1.35)
    ax.spines["left"].set_visible(False)


def _handles(counts: Sequence[int]) -> list[Line2D | Patch]:
    filled = [
        Patch(color=shade(REFERENCE, n, counts), alpha=0.75, label=f"{REFERENCE}, n = {n}") for n in counts
    ]
    lines = [Line2D([], [], color=shade(METHOD, n, counts), label=f"{METHOD}, n = {n}") for n in counts]
    truth = {"marker": "o", "markersize": 2.5, **_TRUTH_LOOK}
    return [*filled, *lines, Line2D([], [], label="true parameter", **truth)]

"""Posteriors of the Jansen-Rit model as clouds of draws: windows, colours and marginals (section 4.3).

One colour per n, dark for one observation and light for the most, in every panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from tallsbi.study.figures import density
from tallsbi.study.figures.density import MIN_DRAWS, SHARES
from tallsbi.study.settings.artifacts import JrnmmFigures

TRUTH_LOOK = {"color": "black", "linewidth": 0.8, "linestyle": "--"}
_WINDOW_SHARE = 0.98  # share of the draws of a posterior that its window holds
_MAX_BEYOND_PRIOR = 0.08  # of the length of the prior: how far a window may go beyond it
_WINDOW_MARGIN = 0.1
_NEAR_MARGIN = 0.25  # of a window: draws so near to it, on either side, still count for a density in it
_MAX_HEIGHT_RATIO = (
    10.0  # a density is cut off at this many times the typical height of the widest posteriors
)
_MIN_UNSEEN_SHARE = 0.02  # share of draws outside the panels that the legend mentions
_SHADES = (0.15, 0.88)  # of viridis, whose light end is lost on white


@dataclass(frozen=True)
class Posteriors:
    """Finite draws [S, m]: `tall` by n, `single` by the one observation; `lost`: the share that is not finite, by n.

    `names`: the parameters, with their labels; `box`: the ends of the prior; `windows`: those of the panels.
    """

    names: Mapping[str, str]
    truth: Float[np.ndarray, "m"]
    box: Float[np.ndarray, "m 2"]
    windows: Float[np.ndarray, "m 2"]
    tall: Mapping[int, Float[np.ndarray, "_ m"]]
    single: Mapping[int, Float[np.ndarray, "_ m"]]
    lost: Mapping[int, float]

    @property
    def counts(self) -> list[int]:
        return sorted(self.tall)

    def shade(self, n: int) -> tuple[float, ...]:
        """The colour of n among all n of the figure."""
        counts = sorted({*self.tall, *([1] if self.single else [])})
        return density.shade("viridis", _SHADES, n, counts)

    def label(self, index: int) -> str:
        return list(self.names.values())[index]

    def window(self, index: int) -> tuple[float, float]:
        low, high = self.windows[index]
        return float(low), float(high)

    def draws_near(self, cloud: Float[np.ndarray, "_ m"], *indices: int) -> Float[np.ndarray, "_ k"]:
        """The draws in and around the windows of some parameters: runaways would stretch a density's grid."""
        kept, columns = np.ones(len(cloud), bool), cloud[:, list(indices)]
        for values, index in zip(columns.T, indices, strict=True):
            low, high = self.window(index)
            reach = _NEAR_MARGIN * (high - low)
            kept &= (values > low - reach) & (values < high + reach)
        return columns[kept]

    def unseen_share(self, n: int) -> float:
        """Share of the draws given n observations that no panel has room for, or that are not finite."""
        cloud = self.tall[n]
        inside = ((cloud >= self.windows[:, 0]) & (cloud <= self.windows[:, 1])).all(1)
        return 1 - (1 - self.lost[n]) * (inside.mean() if len(cloud) else 0.0)


def posteriors(draws: pd.DataFrame, settings: JrnmmFigures) -> Posteriors:
    """The draws of one setting, a cloud per posterior."""
    dim, names = settings.dim, list(settings.theta)
    rows = draws[draws.dim == dim]
    if not (rows.kind == "tall").any():
        dims = sorted(set(draws.dim.tolist()))
        raise ValueError(
            f"dim = {dim}: no draws given several observations (the data have dim {dims}); run its jobs"
        )
    clouds: dict[str, dict[int, np.ndarray]] = {"tall": {}, "single": {}}
    lost = {}
    for (kind, n, observation), part in rows.groupby(["kind", "n", "observation"]):
        cloud, finite = density.cloud(part, "draw", names)
        clouds[kind][int(n if kind == "tall" else observation)] = cloud
        if kind == "tall":
            lost[int(n)] = 1 - float(finite.mean())
    box = np.array([settings.bounds[name] for name in names], float)
    truth = np.array(list(settings.theta.values()), float)
    all_clouds = [*clouds["tall"].values(), *clouds["single"].values()]
    windows = [
        _window([cloud[:, i] for cloud in all_clouds], value, ends)
        for i, (value, ends) in enumerate(zip(truth, box, strict=True))
    ]
    labels = {name: settings.labels[name] for name in names}
    return Posteriors(labels, truth, box, np.array(windows), clouds["tall"], clouds["single"], lost)


def _window(
    samples: Sequence[Float[np.ndarray, "_"]], truth: float, box: Float[np.ndarray, "2"]
) -> tuple[float, float]:
    """Room for the bulk of every posterior and for the truth, and not much beyond the prior."""
    beyond = _MAX_BEYOND_PRIOR * (box[1] - box[0])
    first, last = box[0] - beyond, box[1] + beyond
    near = [values[(values > first) & (values < last)] for values in samples]
    ends = [density.shortest_interval(values, _WINDOW_SHARE) for values in near if len(values) >= MIN_DRAWS]
    if not ends:
        return first, last
    low, high = min(truth, *(end[0] for end in ends)), max(truth, *(end[1] for end in ends))
    margin = max(_WINDOW_MARGIN * (high - low), 1e-3 * (last - first))
    return max(low - margin, first), min(high + margin, last)


def draw_marginals(ax: Axes, clouds: Posteriors, index: int) -> None:
    """Densities of one parameter: thin for each observation alone, if there are any; they then stand for n = 1."""
    single_look = {"color": clouds.shade(1), "linewidth": 0.5, "alpha": 0.35} if clouds.single else {}
    single_heights = [
        _draw_density(ax, clouds, cloud, index, label=f"_single {observation}", **single_look)
        for observation, cloud in clouds.single.items()
    ]
    tall_heights = [
        _draw_density(
            ax, clouds, clouds.tall[n], index, label=f"_tall {n}", color=clouds.shade(n), linewidth=1.5
        )
        for n in _shown_counts(clouds)
    ]
    typical = float(np.median(single_heights or tall_heights[:1]))
    highest = max([*tall_heights, *single_heights])
    ax.set_ylim(0, 1.1 * (min(highest, _MAX_HEIGHT_RATIO * typical) or highest or 1.0))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.axvline(clouds.truth[index], label="_truth", **TRUTH_LOOK)
    _set_window(ax, clouds, index, "x")


def _draw_density(
    ax: Axes, clouds: Posteriors, cloud: Float[np.ndarray, "_ m"], index: int, **look: object
) -> float:
    """Draws the density of one posterior, whose area is the share of draws around the window; returns its height."""
    values = clouds.draws_near(cloud, index)[:, 0]
    if len(values) < MIN_DRAWS:
        return 0.0
    x, height = density.marginal(values)
    height = height * len(values) / len(cloud)
    ax.plot(x, height, **look)
    return float(height.max())


def draw_contours(ax: Axes, clouds: Posteriors, first: int, second: int) -> None:
    """Two parameters: the inner region filled, the outer outlined, the smallest n at the bottom."""
    _set_window(ax, clouds, first, "x")
    _set_window(ax, clouds, second, "y")
    for n in clouds.counts:
        points = clouds.draws_near(clouds.tall[n], first, second)
        if len(points) < MIN_DRAWS:
            continue
        color = clouds.shade(n)
        x, y, height = density.joint(points)
        outer, *inner = density.levels(height, SHARES)
        ax.contour(x, y, height.T, [outer], colors=[color], linewidths=0.9)
        if inner:
            ax.contourf(x, y, height.T, [*inner, 1.01 * height.max()], colors=[(*color[:3], 0.45)])
    ax.plot(*clouds.truth[[first, second]], marker="o", markersize=3.0, color="black", label="_truth")


def _set_window(ax: Axes, clouds: Posteriors, index: int, axis: str) -> None:
    """The window of one parameter along x or y; grey where the prior is zero."""
    low, high = clouds.window(index)
    first, last = clouds.box[index]
    getattr(ax, f"set_{axis}lim")(low, high)
    span = ax.axvspan if axis == "x" else ax.axhspan
    for start, end in ((low, first), (last, high)):
        if start < end:
            span(start, end, color="0.93", linewidth=0, zorder=0, label="_outside the prior")


def posterior_entries(clouds: Posteriors, *, dots: bool = False) -> list[Line2D]:
    """Entries for the colours of n, with the share of draws that is not seen, and for the truth.

    `dots`: the truth is a dot in panels of two parameters.
    """
    entries = []
    if clouds.single:
        parameters = range(len(clouds.names))
        seen = sum(
            len(clouds.draws_near(cloud, *parameters)) >= MIN_DRAWS for cloud in clouds.single.values()
        )
        count = f"{seen} of {len(clouds.single)}" if seen < len(clouds.single) else str(seen)
        text = f"n = 1, {count} observations"
        entries.append(Line2D([], [], color=clouds.shade(1), label=text, linewidth=0.7, alpha=0.7))
    for n in _shown_counts(clouds):
        unseen = clouds.unseen_share(n)
        text = f"n = {n}" + (f" ({100 * unseen:.0f} % not shown)" if unseen > _MIN_UNSEEN_SHARE else "")
        entries.append(Line2D([], [], color=clouds.shade(n), linewidth=1.8, label=text))
    dot = {"marker": "o", "markersize": 3.0} if dots else {}
    return [*entries, Line2D([], [], label="true parameter", **TRUTH_LOOK, **dot)]


def _shown_counts(clouds: Posteriors) -> list[int]:
    """The n with a density of all observations together."""
    return [n for n in clouds.counts if n > 1 or not clouds.single]

"""The tall posterior narrows with n, and GAUSS follows it (Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Rectangle
from matplotlib.ticker import MaxNLocator

from tallsbi.study.figures import style
from tallsbi.study.figures.legend import add_legend
from tallsbi.study.settings.artifacts import Pedagogical

ANALYTIC, METHOD = "analytic", "GAUSS"
SHARES = (0.5, 0.95)
_OUTLINES = {ANALYTIC: ("0.1", "-", 1.1), METHOD: ("tab:blue", (0, (3, 1.5)), 1.3)}
_TRUTH_LOOK = {"marker": "X", "markersize": 5.0, "color": "#D62728", "markeredgecolor": "white"}


def draw(data: Mapping[str, pd.DataFrame], settings: Pedagogical) -> Figure:
    """Columns: n. Top row: one and the same window; bottom row: each posterior at its own size."""
    samples = data["pedagogical"]
    counts = sorted(samples.n.unique().tolist())
    theta = np.asarray(settings.theta, float)
    clouds = {n: {source: _cloud(samples, n, source) for source in _OUTLINES} for n in counts}
    windows = {n: _window(clouds[n][ANALYTIC], theta) for n in counts}
    common = _enclosing(list(windows.values()))
    with style.context():
        width = max(1.75 * len(counts) + 0.6, 4.4)
        figure = Figure(figsize=(width, 4.15), layout="compressed")
        axes = figure.subplots(2, len(counts), squeeze=False)
        for column, n in zip(axes.T, counts, strict=True):
            for ax, window in zip(column, (common, windows[n]), strict=True):
                _panel(ax, clouds[n], theta, *window)
            lost = int(((samples.n == n) & (samples.source == METHOD)).sum()) - len(clouds[n][METHOD])
            column[0].set_title(style.title("n", n) + (f"\n{lost} samples not finite" if lost else ""))
            if windows[n] != common:
                _outline(column[0], *windows[n])
        for ax, text in zip(axes[:, -1], ("same window", "own window"), strict=True):
            style.row_title(ax, text)
        for ax in axes[0, 1:]:
            ax.tick_params(labelleft=False)
        for ax in axes[1]:
            ax.set_xlabel(r"$\theta_1$")
        for ax in axes[:, 0]:
            ax.set_ylabel(r"$\theta_2$")
        add_legend(figure, _handles(), width)
    return figure


def _cloud(samples: pd.DataFrame, n: int, source: str) -> np.ndarray:
    """The finite samples [S, 2] of one source."""
    part = samples[(samples.n == n) & (samples.source == source)]
    points = part[["theta_1", "theta_2"]].to_numpy(float)
    return points[np.isfinite(points).all(1)]


def _enclosing(windows: list[tuple[tuple[float, float], float]]) -> tuple[tuple[float, float], float]:
    """The smallest square that holds all windows, as centre and half-width."""
    centres, halves = np.array([centre for centre, _ in windows]), np.array([[half] for _, half in windows])
    low, high = (centres - halves).min(0), (centres + halves).max(0)
    return tuple((low + high) / 2), float((high - low).max() / 2)


def _window(points: np.ndarray, theta: np.ndarray) -> tuple[tuple[float, float], float]:
    """Centre and half-width of a square around the 99.5 % ellipse and the true parameter."""
    centre = points.mean(0)
    half = np.sqrt(_squared_radius(0.995) * points.var(0, ddof=1).max())
    return tuple(centre.tolist()), float(max(half, 1.1 * np.abs(theta - centre).max()))


def _squared_radius(share: float) -> float:
    """The squared Mahalanobis radius that holds this share of a two-dimensional Gaussian."""
    return -2 * np.log(1 - share)


def ellipse(points: np.ndarray, share: float) -> tuple[np.ndarray, float, float, float]:
    """Centre [2], full width, full height and angle (degrees) of the Gaussian ellipse that holds `share`."""
    values, vectors = np.linalg.eigh(np.cov(points.T))
    width, height = 2 * np.sqrt(_squared_radius(share) * values[::-1])
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])) % 180
    return points.mean(0), float(width), float(height), float(angle)


def _panel(
    ax: Axes, clouds: Mapping[str, np.ndarray], theta: np.ndarray, centre: Sequence[float], half: float
) -> None:
    points = clouds[METHOD]
    dots = {"marker": ".", "markersize": 2.2, "alpha": 0.25, "markeredgewidth": 0, "rasterized": True}
    ax.plot(*points.T, linestyle="none", color=_OUTLINES[METHOD][0], label="_samples", **dots)
    for source, (color, line, width) in _OUTLINES.items():
        for share in SHARES if len(clouds[source]) > 2 else ():
            middle, *shape = ellipse(clouds[source], share)
            outline = {"edgecolor": color, "linestyle": line, "linewidth": width, "facecolor": "none"}
            ax.add_patch(Ellipse(middle, *shape[:2], angle=shape[2], label=f"_{source} {share}", **outline))
    ax.plot(*theta, linestyle="none", markeredgewidth=0.6, label="_truth", **_TRUTH_LOOK)
    limits = [(middle - half, middle + half) for middle in centre]
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))


def _outline(ax: Axes, centre: Sequence[float], half: float) -> None:
    """A square in the common window around what the panel below shows."""
    corner = (centre[0] - half, centre[1] - half)
    edge = {"fill": False, "edgecolor": "0.45", "linewidth": 0.6}
    ax.add_patch(Rectangle(corner, 2 * half, 2 * half, label="_own", **edge))


def _handles() -> list[Line2D]:
    shares = ", ".join(f"{share:.0%}" for share in SHARES)
    handles = [
        Line2D([], [], color=color, linestyle=line, linewidth=width, label=f"{source} ({shares})")
        for source, (color, line, width) in _OUTLINES.items()
    ]
    dot = {"marker": ".", "linestyle": "none", "color": _OUTLINES[METHOD][0]}
    handles.append(Line2D([], [], label=f"{METHOD} samples", **dot))
    handles.append(
        Line2D([], [], linestyle="none", markeredgewidth=0.6, label="true parameter", **_TRUTH_LOOK)
    )
    return handles

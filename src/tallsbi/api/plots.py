"""Pictures: a posterior pair by pair, a diagnosis, a posterior predictive check; figures of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tallsbi.api import extras
from tallsbi.api.inputs import as_tensor

if TYPE_CHECKING:
    from tallsbi.api.diagnosis import Diagnosis
    from tallsbi.api.predict import Prediction

_DRAWS_COLOUR, _REFERENCE_COLOUR, _TRUTH_COLOUR = "C0", "0.25", "C3"
_BINS = 40
_SMOOTHING = 1.5  # standard deviation in bins
_LEVELS = (0.9, 0.5)
_BAND = 2.576  # standard errors: 99 %
_SHORTEST_SERIES = 5  # numbers from which on an observation is drawn as a line


def new_figure(width: float, height: float) -> Any:
    extras.require("plot", "matplotlib")
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def pair_plot(draws: Any, truth: Any, reference: Any, names: Sequence[str]) -> Any:
    """Histograms with central 50 and 90 % intervals, and for each pair the regions that hold 50 and 90 %."""
    theta = _table(draws, "draws", len(names))
    reference = None if reference is None else _table(reference, "reference", len(names))
    truth = None if truth is None else as_tensor(truth, "truth").flatten().numpy()
    if truth is not None and len(truth) != len(names):
        raise ValueError(f"truth has {len(truth)} numbers; the draws have {len(names)} coordinates.")
    m = len(names)
    figure = new_figure(2.1 * m + 1, 2.1 * m + 0.5)
    axes = figure.subplots(m, m, squeeze=False)
    limits = [_limits(theta[:, i], reference, truth, i) for i in range(m)]
    for row in range(m):
        for column in range(m):
            panel = axes[row][column]
            if column > row:
                panel.set_axis_off()
                continue
            if row == column:
                _marginal(panel, theta[:, row], reference, truth, row, limits[row])
            else:
                _pair(
                    panel, theta[:, [column, row]], _DRAWS_COLOUR, (limits[column], limits[row]), filled=True
                )
                if reference is not None:
                    pair = reference[:, [column, row]]
                    _pair(panel, pair, _REFERENCE_COLOUR, (limits[column], limits[row]), filled=False)
                if truth is not None:
                    panel.plot(truth[column], truth[row], "+", color=_TRUTH_COLOUR, ms=9, mew=2)
                panel.set_ylim(limits[row])
            panel.set_xlim(limits[column])
            panel.set_xlabel(names[column] if row == m - 1 else "")
            panel.set_ylabel(names[row] if column == 0 and row else "")
            panel.tick_params(labelbottom=row == m - 1, labelleft=column == 0 and row > 0, labelsize="small")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", frameon=False, fontsize="small")
    return figure


def _table(draws: Any, name: str, m: int) -> np.ndarray:
    values = as_tensor(draws, name).numpy()
    if values.ndim != 2 or values.shape[1] != m or len(values) < 2:
        raise ValueError(f"{name} has shape {values.shape}: give the draws of one dataset, [S, {m}].")
    finite = np.isfinite(values).all(1)
    if finite.sum() < 2:
        raise ValueError(
            f"{name}: {int((~finite).sum())} of {len(values)} draws are not finite; nothing to plot."
        )
    return values[finite]


def _limits(
    draws: np.ndarray, reference: np.ndarray | None, truth: np.ndarray | None, i: int
) -> tuple[float, float]:
    ends = [np.quantile(draws, (0.002, 0.998))]
    if reference is not None:
        ends.append(np.quantile(reference[:, i], (0.002, 0.998)))
    if truth is not None:
        ends.append(np.array([truth[i], truth[i]]))
    low, high = min(pair[0] for pair in ends), max(pair[1] for pair in ends)
    margin = 0.08 * (high - low) or 1e-3 * max(abs(high), 1.0)
    return float(low - margin), float(high + margin)


def _marginal(
    panel: Any, draws: np.ndarray, reference: np.ndarray | None, truth: np.ndarray | None, i: int, limits: Any
) -> None:
    panel.hist(draws, bins=_BINS, range=limits, density=True, color=_DRAWS_COLOUR, alpha=0.5, label="draws")
    if reference is not None:
        options: Any = {"bins": _BINS, "range": limits, "density": True, "histtype": "step"}
        panel.hist(reference[:, i], color=_REFERENCE_COLOUR, label="reference", **options)
    height = panel.get_ylim()[1]
    for level, width, text in zip(_LEVELS, (1.5, 4.0), ("90 % interval", "50 % interval"), strict=True):
        ends = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2))
        panel.plot(
            ends, [-0.04 * height] * 2, color=_DRAWS_COLOUR, lw=width, solid_capstyle="butt", label=text
        )
    if truth is not None:
        panel.axvline(truth[i], color=_TRUTH_COLOUR, lw=1.5, label="truth")
    panel.set_yticks([])


def _pair(panel: Any, draws: Any, colour: str, limits: Any, *, filled: bool) -> None:
    counts, x, y = np.histogram2d(draws[:, 0], draws[:, 1], bins=_BINS, range=limits)
    offsets = np.arange(-4, 5)
    kernel = np.exp(-0.5 * (offsets / _SMOOTHING) ** 2)
    for axis in (0, 1):
        counts = np.apply_along_axis(np.convolve, axis, counts, kernel / kernel.sum(), mode="same")
    ordered = np.sort(counts.ravel())[::-1]
    mass = ordered.cumsum() / max(ordered.sum(), 1e-300)
    levels = sorted({float(ordered[int((mass < level).sum())]) for level in _LEVELS})
    if levels[0] <= 0 or counts.max() <= levels[-1]:
        panel.plot(draws[:, 0], draws[:, 1], ".", color=colour, ms=1)
        return
    centres = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    if filled:
        panel.plot(draws[:2000, 0], draws[:2000, 1], ".", color=colour, ms=1, alpha=0.25)
        panel.contourf(*centres, counts.T, [*levels, counts.max()], colors=[colour], alpha=0.35)
    panel.contour(*centres, counts.T, levels, colors=[colour], linewidths=1.0)


def diagnosis_plot(diagnosis: Diagnosis, names: Sequence[str]) -> Any:
    """Histograms of ranks with the band of 99 % of calibrated ones, coverage of intervals, and TARP."""
    m, count = diagnosis.ranks.shape[1], len(diagnosis.ranks)
    columns = min(m, 4)
    rows = -(-m // columns)
    figure = new_figure(2.4 * columns + 3.4, max(2.2 * rows, 3.0))
    left, right = figure.subfigures(1, 2, width_ratios=(2.4 * columns, 3.4))
    bins = int(np.clip(count // 20, 4, 20))
    share = 1 / bins
    half_band = _BAND * np.sqrt(count * share * (1 - share))
    panels = left.subplots(rows, columns, squeeze=False).ravel()
    for i, panel in enumerate(panels):
        if i >= m:
            panel.set_axis_off()
            continue
        panel.axhspan(count * share - half_band, count * share + half_band, color="0.85")
        panel.axhline(count * share, color="0.5", lw=1)
        panel.hist(
            diagnosis.ranks[:, i], bins=bins, range=(0, diagnosis.samples + 1), color=_DRAWS_COLOUR, alpha=0.7
        )
        panel.set_title(f"{names[i]}, p = {diagnosis.ks_p_values[i]:.2g}", fontsize="small")
        panel.set_xlabel("rank", fontsize="small")
    panel, grid = right.subplots(), np.linspace(0, 1, 101)
    half_band = _BAND * np.sqrt(grid * (1 - grid) / count)
    panel.fill_between(grid, grid - half_band, grid + half_band, color="0.85", lw=0)
    panel.plot(grid, grid, color="0.5", lw=1)
    for i in range(m):
        level = np.abs(2 * (diagnosis.ranks[:, i] + 0.5) / (diagnosis.samples + 1) - 1)
        panel.plot(grid, [(level <= a).mean() for a in grid], lw=1.2, label=names[i])
    if diagnosis.tarp is not None:
        panel.plot(grid, [(diagnosis.tarp <= a).mean() for a in grid], "k--", lw=1.5, label="TARP")
    panel.set(xlabel="promised", ylabel="covered", xlim=(0, 1), ylim=(0, 1))
    panel.legend(fontsize="small", frameon=False)
    figure.suptitle(f"{diagnosis.method}, n = {diagnosis.n}, {count} datasets", fontsize="medium")
    return figure


def prediction_plot(prediction: Prediction) -> Any:
    """Simulated observations as bands or histograms, the observed ones on top."""
    simulated, observed = prediction.simulated.numpy(), prediction.observed.numpy()
    shape = simulated.shape[2:]
    if shape[0] >= _SHORTEST_SERIES and len(shape) <= 2:
        channels = shape[1] if len(shape) == 2 else 1
        figure = new_figure(4.5 * min(channels, 3), 3.2 * -(-channels // 3))
        panels = figure.subplots(-(-channels // 3), min(channels, 3), squeeze=False).ravel()
        series = simulated.reshape(-1, shape[0], channels)
        for c in range(channels):
            steps = np.arange(shape[0])
            for level, alpha in zip(_LEVELS, (0.2, 0.4), strict=True):
                low, high = np.nanquantile(series[..., c], ((1 - level) / 2, (1 + level) / 2), axis=0)
                panels[c].fill_between(
                    steps, low, high, color=_DRAWS_COLOUR, alpha=alpha, lw=0, label=f"{level:.0%} simulated"
                )
            lines = observed.reshape(-1, shape[0], channels)[..., c]
            panels[c].plot(
                steps, lines.T, color=_TRUTH_COLOUR, lw=0.8, alpha=max(0.15, 1 / len(lines) ** 0.5)
            )
            panels[c].plot([], [], color=_TRUTH_COLOUR, label="observed")
            panels[c].set_xlabel("number of the observation" if len(shape) == 1 else f"step, channel {c}")
    else:
        flat, flat_observed = simulated.reshape(-1, int(np.prod(shape))), observed.reshape(len(observed), -1)
        count = min(flat.shape[1], 12)  # of an image, the first numbers
        figure = new_figure(3.0 * min(count, 4), 2.6 * -(-count // 4))
        panels = figure.subplots(-(-count // 4), min(count, 4), squeeze=False).ravel()
        for i in range(count):
            finite = flat[np.isfinite(flat[:, i]), i]
            panels[i].hist(
                finite, bins=_BINS, density=True, color=_DRAWS_COLOUR, alpha=0.5, label="simulated"
            )
            panels[i].plot(
                flat_observed[:, i],
                np.zeros(len(flat_observed)),
                "|",
                color=_TRUTH_COLOUR,
                ms=14,
                mew=1.5,
                label="observed",
            )
            panels[i].set(yticks=[], xlabel=f"x_{i}")
        for panel in panels[count:]:
            panel.set_axis_off()
    panels[0].legend(fontsize="small", frameon=False)
    figure.suptitle(f"posterior predictive check, p = {prediction.p_value:.2g}", fontsize="medium")
    return figure

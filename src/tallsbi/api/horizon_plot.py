"""The picture of a horizon: offsets and coverage against n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallsbi.metrics.calibration import LEVELS, NARROW_BAR, WIDE_BAR

if TYPE_CHECKING:
    from tallsbi.api.horizon import Horizon

_PANELS = {
    "root mean square z": ("rms_z",),
    "mean z": ("mean_z",),
    "coverage of 50 and 90 % intervals": ("coverage_50", "coverage_90"),
}


def plot(horizon: Horizon) -> Any:
    """Three panels, a colour per parameter, with 95 % intervals; dashed: the horizon."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("`plot` needs matplotlib: pip install matplotlib") from error

    table, figure = horizon.table(), Figure(figsize=(10.5, 3.4), layout="constrained")
    dim = horizon.measured[0].dim
    for axes, (label, measures) in zip(figure.subplots(1, len(_PANELS)), _PANELS.items(), strict=True):
        for i in range(dim):
            rows = table[table.parameter == i]
            for measure in measures:
                value = rows[measure]
                errors = (value - rows[f"{measure}_low"], rows[f"{measure}_high"] - value)
                # Side by side, so that intervals do not hide each other.
                n = rows.n * 1.04 ** (i - (dim - 1) / 2)
                name = f"parameter {i}" if measure == measures[0] else None
                axes.errorbar(
                    n, value, errors, marker="o", ms=3, lw=1, capsize=2, color=f"C{i % 10}", label=name
                )
        axes.set(xscale="log", xlabel="n", ylabel=label)
        if horizon.n:
            axes.axvline(horizon.n, color="0.3", lw=1, ls="--")
        if measures == ("rms_z",):
            axes.set_yscale("log")
            axes.axhspan(1 / WIDE_BAR, NARROW_BAR, color="0.9", zorder=0)
        for level in LEVELS if len(measures) > 1 else [1.0 if measures == ("rms_z",) else 0.0]:
            axes.axhline(level, color="0.5", lw=0.8)
    figure.axes[0].legend(fontsize="small")
    figure.suptitle(f"{horizon.method}: {horizon.answer}", fontsize="medium")
    return figure

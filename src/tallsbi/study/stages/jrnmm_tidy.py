"""Tidy tables of the neuroscience study: what its figures are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tallsbi.metrics.dirac import mmd_to_point, scaled_second_moment

if TYPE_CHECKING:
    import xarray as xr


def dirac_table(
    runs: Iterable[xr.Dataset], truth: Mapping[str, float], bounds: Mapping[str, Sequence]
) -> pd.DataFrame:
    """Distances to the true parameter: a row per method, n and parameter, and `all` for their average."""
    rows = []
    for run in runs:
        names = list(run["parameter"].values)
        point = np.array([truth[name] for name in names], dtype=np.float64)
        prior_sd = np.array([(bounds[name][1] - bounds[name][0]) / np.sqrt(12) for name in names])
        for n in run["n"].values:
            theta = run["theta"].sel(n=n).values
            published, mmd = scaled_second_moment(theta, point), mmd_to_point(theta, point, prior_sd)
            cell = {
                "dim": len(names),
                "method": run.attrs["method"],
                "steps": int(run.attrs["steps"]),
                "n": int(n),
                "samples": len(theta),
                "finite_share": float(np.isfinite(theta).all(-1).mean()),
            }
            columns = zip([*names, "all"], [*published, published.mean()], [*mmd, mmd.mean()], strict=True)
            rows += [{**cell, "parameter": name, "published": p, "mmd": k} for name, p, k in columns]
    return pd.DataFrame(rows)


def draw_table(tall: Iterable[xr.Dataset], single: Iterable[xr.Dataset], most: int) -> pd.DataFrame:
    """Draws for the marginals, at most `most` of each posterior: a row per draw and parameter."""
    frames = []
    for kind, axis, runs in (("tall", "n", tall), ("single", "observation", single)):
        for run in runs:
            theta = run["theta"].isel(sample=slice(most))
            frame = theta.to_series().rename("value").reset_index().rename(columns={"sample": "draw"})
            frame = frame.assign(dim=run.sizes["parameter"], kind=kind)
            other, value = ("observation", -1) if axis == "n" else ("n", 1)
            frames.append(frame.assign(**{other: value}))
    return pd.concat(frames, ignore_index=True)[
        ["dim", "kind", "n", "observation", "draw", "parameter", "value"]
    ]

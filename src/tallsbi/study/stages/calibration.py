"""l-C2ST: whether the posteriors at the observations are calibrated; one table per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from tallsbi.metrics.lc2st import local_test
from tallsbi.metrics.validity import is_lost, lost_share
from tallsbi.study.columns.jrnmm import LC2ST
from tallsbi.study.settings.measure import CalibrationTestSettings
from tallsbi.study.stages.health import usable

if TYPE_CHECKING:
    import xarray as xr

    from tallsbi.scores.normaliser import Normaliser

_MAX_LOST_SHARE = 0.5  # share of lost calibration draws above which the test says nothing


def lc2st_table(
    calibration: xr.Dataset,
    drawn: xr.Dataset,
    observations: xr.Dataset,
    samples: xr.Dataset,
    settings: CalibrationTestSettings,
    normaliser: Normaliser | None,
) -> pd.DataFrame:
    """A row per classifier: statistic, p-value, and mean and 95 % quantile of the null.

    `drawn`: one draw for each of the `calibration` pairs; `samples`: draws for the observations. Pairs whose draw is
    lost are left out of the test; `calibration` counts them all the same, so that a method which loses its draws
    is not excused for lack of pairs. With too many of them, or with a posterior at the observation that is lost,
    there is no test, and the statistics are NaN. `normaliser`: puts theta and x on a common scale first; None
    leaves them in raw units, as in the published results.
    """
    n, classifiers, permutations = settings.n, settings.classifiers, settings.permutations
    at_pairs, at_x_o = drawn.sel(n=n).isel(sample=[0]), samples.sel(n=n).isel(set=0)
    theta, kept, kept_o = at_pairs["theta"].values[:, 0], usable(at_pairs)[:, 0], usable(at_x_o)
    share = lost_share(kept)
    row = {
        "dim": calibration.sizes["parameter"],
        "method": samples.attrs["method"],
        "n": n,
        "calibration": len(kept),
        "lost_share": share,
        "permutations": permutations,
    }
    if share > _MAX_LOST_SHARE or is_lost(lost_share(kept_o)):
        missing = dict.fromkeys(("statistic", "p_value", "null_mean", "null_q95"), np.nan)
        return LC2ST.frame({**row, "classifier": c, **missing} for c in range(classifiers))
    to_theta, to_x = _scales(normaliser)
    x = to_x(calibration["x"].values[kept, :n]).flatten(1)
    x_o = to_x(observations["x"].values[0, :n]).flatten()
    test = local_test(
        to_theta(calibration["theta"].values[kept]),
        to_theta(theta[kept]),
        x,
        to_theta(at_x_o["theta"].values[kept_o]),
        x_o,
        classifiers=classifiers,
        permutations=permutations,
    )
    null = {"null_mean": float(test.null.mean()), "null_q95": float(np.quantile(test.null, 0.95))}
    return LC2ST.frame(
        {**row, "classifier": c, "statistic": statistic, "p_value": p_value, **null}
        for c, (statistic, p_value) in enumerate(zip(test.statistics, test.p_values, strict=True))
    )


def _scales(normaliser: Normaliser | None) -> tuple:
    def tensor(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.asarray(values, dtype=np.float64))

    if normaliser is None:
        return lambda v: tensor(v).float(), lambda v: tensor(v).float()
    return lambda v: normaliser.theta(tensor(v)).float(), lambda v: normaliser.x(tensor(v)).float()

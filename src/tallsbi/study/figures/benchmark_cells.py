"""From the benchmark's distances to the points of a panel, and the y axis they are shown on (section 4.2).

A cell is one (task, N_train, n, method); its point is the mean over the parameter sets with a finite
distance. A set that diverged has none: it is counted and the count is shown beside the point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from tallsbi.study.figures.panels import Scale

LABELS = {"sw": "sliced Wasserstein (sW)", "mmd": "MMD² (unbiased)", "c2st": "C2ST (0.5: indistinguishable)"}
# Upper ends of the paper's axes, which start at 0 (its C2ST axes: 0.5 to 1.1).
UPPER: Mapping[str, Mapping[str, float]] = {
    "sw": {
        "slcp": 2.0,
        "lotka_volterra": 0.05,
        "sir": 0.01,
        "gaussian_linear": 0.8,
        "gmm": 1.0,
        "gmm_uniform": 2.0,
        "bernoulli_glm": 1.0,
        "bernoulli_glm_raw": 1.0,
        "two_moons": 0.4,
    },
    "mmd": {
        "slcp": 0.6,
        "lotka_volterra": 1.5,
        "sir": 1.0,
        "gaussian_linear": 1.5,
        "gmm": 2.0,
        "gmm_uniform": 2.0,
        "bernoulli_glm": 2.0,
        "bernoulli_glm_raw": 2.0,
        "two_moons": 0.3,
    },
}
C2ST = Scale((0.47, 1.1), (0.5, 0.75, 1.0))
BEST = {"sw": 0.0, "mmd": 0.0, "c2st": 0.5}  # the value of a perfect sampler
_MARGIN = 0.05  # below 0, so that a point at 0 is seen whole; the unbiased MMD² can be slightly negative
_WIDEST = 1e4  # a widened axis ends at most this many times above the paper's


def over_sets(frame: pd.DataFrame, x: str, metric: str) -> pd.DataFrame:
    """Per value of `x`: `mean` and `std` (NaN for one set) over the finite sets, how many `diverged`, `total`."""
    values = frame[metric].where(np.isfinite(frame[metric]))
    groups = values.groupby(frame[x])
    summary = pd.DataFrame({"mean": groups.mean(), "std": groups.std(), "total": groups.size()})
    return summary.assign(diverged=summary.total - groups.count())


def uncertified(frame: pd.DataFrame, x: str) -> pd.Series:
    """Per value of `x`: how many sets have a reference that did not pass its checks."""
    failed = frame[~frame.reference_passed.astype(bool)]
    return failed.groupby(x)["set"].nunique()


def scale(task: str, metric: str, means: np.ndarray) -> Scale:
    """The paper's axis. A task that it does not show gets a round end; widened if most means lie beyond it.

    A panel in which most points are arrows shows nothing, so the axis then goes on above the paper's end,
    logarithmically.
    """
    if metric == "c2st":
        return C2ST
    finite = means[np.isfinite(means)]
    upper = UPPER[metric].get(task) or round_up(float(max(finite, default=1.0)))
    limits = (-_MARGIN * upper, upper)
    if len(finite) == 0 or np.mean(finite > upper) <= 0.5:
        return Scale(limits, (0.0, upper / 2, upper))
    top = min(math.ceil(math.log10(finite.max())), math.floor(math.log10(_WIDEST * upper)))
    first = math.floor(math.log10(upper)) + 1
    step = max(1, -(-(top - first + 1) // 3))  # three decades at most have a tick
    decades = tuple(10.0**decade for decade in range(top, first - 1, -step))[::-1]
    return Scale((limits[0], max(10.0**top, 2 * upper)), (0.0, upper, *decades), upper)


def round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9))

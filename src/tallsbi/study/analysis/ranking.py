"""The best method of a cell, with its ties.

The methods see the same parameter sets, so they are compared set by set, on the scale of the metric: sW by its
logarithm (positive, over orders of magnitude between sets and methods), MMD² (unbiased, so it can be negative) and
C2ST (between 0 and 1) as they are. Multiplying all distances by a constant changes nothing.

out       a method that is lost on a set, or blew up on one: its sW there is more than `BLOWN_UP_RATIO` times the
          smallest of the methods that are lost nowhere. It is out for all metrics, since MMD² and C2ST are bounded and
          do not see how far away draws are. Out for one metric: a method with an invalid comparison (`validity`)
best      the smallest mean, of logarithms for sW, among the others
tied      not worse than the best by a one-sided test of the paired differences at `LEVEL`: Wilcoxon's signed ranks
          from 6 sets on; Student's for 2 to 5, whose ranks cannot reach the level; for a single set only an equal
          distance ties. In sW a tied method is on no set more than `MAX_TIED_RATIO` times as far off as the best: an
          outlier inflates Student's standard error with the mean, and one set in many hardly moves the ranks
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from tallsbi.study.analysis.validity import INVALID_MEANING, LOST_MEANING, comparable

BLOWN_UP_RATIO = 100.0  # times the smallest sW on the set
MAX_TIED_RATIO = 10.0  # times the sW of the best method on the set
LEVEL = 0.025  # one-sided: that of a two-sided interval of 95 %
RULE = (
    f"Ties are judged set by set, sW in logarithms: not significantly worse than the best ({1 - 2 * LEVEL:.0%}; "
    f"Wilcoxon's signed ranks, Student's test below 6 sets), and on no set more than {MAX_TIED_RATIO:.0f} times its "
    f"sW. A method that is lost on a set ({LOST_MEANING}), or whose sW there is more than {BLOWN_UP_RATIO:.0f} times "
    f"the smallest (blown up), is out for all metrics. A comparison is invalid, and never best, if {INVALID_MEANING}."
)  # the rule as the notes of tables say it
_UNBOUNDED_METRIC = "sw"  # the metric that grows without bound with the draws
_MIN_RANKED = 6  # sets from which on signed ranks can reach the level


def rank_metrics(values: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """`rank` of every metric (rows of a matrix: parameter sets; columns: methods); sW says what is out."""
    distances = values[_UNBOUNDED_METRIC]
    blown_up, finite = _blown_up(distances), np.isfinite(distances)
    lost = (~finite).sum()
    return {
        metric: rank(table.where(finite), metric == _UNBOUNDED_METRIC, blown_up, lost)
        for metric, table in values.items()
    }


def rank(
    values: pd.DataFrame,
    logarithms: bool,
    blown_up: pd.Series | None = None,
    lost: pd.Series | None = None,
) -> pd.DataFrame:
    """One row per column (method) of `values` (rows: parameter sets), smaller is better.

    `mean` and `std` are over the sets with a finite value, `lost` counts the sets on which a method is lost (without
    a count: all others), `invalid` the rest, `blown_up` the sets on which a method blew up (counted in `values` where
    `logarithms` are compared, else as given). `difference` is the mean paired difference to the best, of logarithms
    where these are compared, and `p_value` that of the test for being worse.
    """
    table = values.where(np.isfinite(values))
    if blown_up is None:
        blown_up = _blown_up(table) if logarithms else pd.Series(0, table.columns)
    missing = table.isna().sum()
    lost = missing if lost is None else lost
    summary = pd.DataFrame(
        {
            "mean": table.mean(),
            "std": table.std(),
            "sets": len(table),
            "lost": lost,
            "invalid": missing - lost,
            "blown_up": blown_up,
            "best": False,
            "tied": False,
            "difference": np.nan,
            "p_value": np.nan,
        }
    )
    compared = summary.index[(missing == 0) & (summary.blown_up == 0) & (summary.sets > 0)]
    if compared.empty:
        return summary
    scores = np.log(_positive(table))[compared] if logarithms else table[compared]
    best = scores.mean().idxmin()
    differences = scores.sub(scores[best], axis=0)
    summary.loc[compared, "difference"] = differences.mean()
    summary.loc[compared, "p_value"] = differences.apply(lambda column: _p_worse(column.to_numpy()))
    summary.loc[[best], "best"] = True
    too_far = differences.max() > np.log(MAX_TIED_RATIO) if logarithms else pd.Series(False, compared)
    summary.loc[compared, "tied"] = (summary.p_value[compared] > LEVEL) & ~too_far & (compared != best)
    return summary


def by_method(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The distances of one cell as a matrix: rows parameter sets, columns (method, steps) as in the data.

    NaN where a run is lost or the comparison invalid.
    """
    frame = comparable(frame)
    columns = list(dict.fromkeys(zip(frame.method, frame.steps, strict=True)))
    matrix = frame.set_index(["set", "method", "steps"])[metric].unstack(["method", "steps"])
    if matrix.size != len(frame):
        raise ValueError(
            f"{metric}: {len(frame)} distances for {len(matrix)} parameter sets and {len(columns)} methods; every "
            "method needs a row for every set (NaN where it is lost), so measure the missing ones."
        )
    return matrix.reindex(columns=pd.MultiIndex.from_tuples(columns, names=["method", "steps"]))


def _positive(distances: pd.DataFrame) -> pd.DataFrame:
    """Zeros, which have no logarithm, are raised to the smallest distance above zero."""
    if (distances < 0).any(axis=None):
        raise ValueError("a distance below zero has no logarithm; compare such a metric as it is")
    smallest = distances.where(distances > 0).min(axis=None)
    return distances.clip(lower=1.0 if np.isnan(smallest) else smallest)


def _blown_up(distances: pd.DataFrame) -> pd.Series:
    """On how many sets each method is `BLOWN_UP_RATIO` times as far off as the nearest method that is lost nowhere."""
    logs = np.log(_positive(distances.where(np.isfinite(distances))))
    nearest = logs.dropna(axis=1).min(axis=1)
    return logs.sub(nearest, axis=0).gt(np.log(BLOWN_UP_RATIO)).sum()


def _p_worse(differences: np.ndarray) -> float:
    """The p-value of equal methods against one that is worse than the best (differences above zero)."""
    nonzero = differences[differences != 0]
    if not len(nonzero):
        return 1.0
    if len(differences) >= _MIN_RANKED:
        return float(stats.wilcoxon(nonzero, alternative="greater").pvalue)
    mean, count = differences.mean(), len(differences)
    error = differences.std(ddof=1) / np.sqrt(count) if count > 1 else 0.0
    return float(stats.t.sf(mean / error, count - 1)) if error > 0 else float(mean <= 0)

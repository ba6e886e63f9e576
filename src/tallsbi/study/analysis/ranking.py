"""The best method of a cell, with its ties.

The methods see the same parameter sets, so they are compared set by set: a method ties with the best one
where the mean of the paired differences is within two standard errors of zero.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

ERRORS = 2.0  # standard errors of the paired difference up to which two methods are tied


def rank(values: pd.DataFrame) -> pd.DataFrame:
    """One row per column (method) of `values` (rows: parameter sets), smaller is better.

    `mean` and `std` are over the sets with a finite value, `diverged` counts the others. Only methods
    without a diverged set can be `best` (the smallest mean), or `tied` with it: a mean over the sets that a
    method survived is not comparable. `difference` and `error` are the mean and the standard error of the
    paired difference to the best.
    """
    table = values.where(np.isfinite(values))
    summary = pd.DataFrame(
        {
            "mean": table.mean(),
            "std": table.std(),
            "sets": len(table),
            "diverged": table.isna().sum(),
            "best": False,
            "tied": False,
            "difference": np.nan,
            "error": np.nan,
        }
    )
    complete = summary.index[(summary.diverged == 0) & (summary.sets > 0)]
    if complete.empty:
        return summary
    best = summary.loc[complete, "mean"].idxmin()
    differences = table[complete].sub(table[best], axis=0)
    summary.loc[complete, "difference"] = differences.mean()
    summary.loc[complete, "error"] = differences.std() / np.sqrt(len(table))
    summary.loc[[best], "best"] = True
    # A single set has no standard error, so nothing but an equal distance counts as a tie.
    within = summary.difference <= ERRORS * summary.error.fillna(0.0)
    summary["tied"] = within & ~summary.best
    return summary


def by_method(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The distances of one cell as a matrix: rows parameter sets, columns (method, steps) as in the data."""
    columns = list(dict.fromkeys(zip(frame.method, frame.steps, strict=True)))
    matrix = frame.set_index(["set", "method", "steps"])[metric].unstack(["method", "steps"])
    if matrix.size != len(frame):
        raise ValueError(
            f"{metric}: {len(frame)} distances for {len(matrix)} parameter sets and {len(columns)} methods; every "
            "method needs a row for every set (NaN where it diverged), so measure the missing ones."
        )
    return matrix.reindex(columns=pd.MultiIndex.from_tuples(columns, names=["method", "steps"]))

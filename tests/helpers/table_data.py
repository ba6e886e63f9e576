"""Small tables of distances with known averages."""

import numpy as np
import pandas as pd

from tallsbi.study.settings.artifacts import SbibmTables

SETTINGS = SbibmTables(
    tasks=("slcp", "sir"),
    extra_tasks=("gmm",),
    labels={"slcp": "SLCP", "sir": "SIR", "gmm": "GMM"},
    table_n_obs=(1, 14, 30),
)


def frame(values, task="slcp", n_train=30000, n=1, method="GAUSS", steps=1000):
    """Distances of one cell: set i has sw values[i], mmd a tenth of it, c2st half as much above 0.5."""
    values = np.asarray(values, float)
    return pd.DataFrame(
        {
            "task": task,
            "n_train": n_train,
            "n": n,
            "set": np.arange(len(values)),
            "method": method,
            "steps": steps,
            "samples": 1000,
            "sw": values,
            "mmd": 0.1 * values,
            "c2st": 0.5 + 0.5 * values,
            "mmd_valid": np.isfinite(values),
            "c2st_valid": np.isfinite(values),
            "lost_share": np.where(np.isfinite(values), 0.0, 0.5),
            "nonfinite_time": np.where(np.isfinite(values), np.nan, 0.4),
            "reference_passed": True,
        }
    )


def concat(*frames):
    return pd.concat(frames, ignore_index=True)

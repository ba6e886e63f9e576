"""Which parameter sets the published averages leave out (appendix on the sbibm results).

The text says that outliers above the 99th percentile are excluded. The printed numbers come from this rule: look only
at GAUSS, N_train > 3000, sW and MMD; in each of these cells flag every set above the 0.99 quantile of the cell's
distances, and every set without a distance (the run is lost, or the comparison invalid); drop a set that is flagged in
any cell from every method and every cell. One SIR set is always dropped. With 25 sets a quantile of 0.99 always flags
the worst one, so the rule removes the sets where GAUSS does worst, which favours it. All averages are therefore given
without the rule as well.

What the rule flagged in the published runs is known for the tasks of the main text (`PUBLISHED_LISTS`). These lists can
take the place of the rule: they leave out the same parameters as the printed averages, whichever method does worst on
them here.

Sets are counted from 0 here, as in the data; the paper's numbers start at 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tallsbi.study.analysis.validity import comparable
from tallsbi.study.settings.exclusion import ABOVE_N_TRAIN, METHOD

METRICS = ("sw", "mmd")
QUANTILE = 0.99
PUBLISHED_LISTS = {
    "slcp": (0, 2, 4, 5, 16, 18, 24),
    "lotka_volterra": (2, 18, 19, 22),
    "sir": (4, 5, 7, 11, 14, 19, 22, 23),
}
ALWAYS_EXCLUDED = {"sir": (11,)}  # number 12 of the paper: R0 = 1.5, hardly any infections


@dataclass(frozen=True)
class Exclusion:
    """The outcome for one task: its sets, and those the rule or, if `listed`, the published list flags."""

    task: str
    sets: tuple[int, ...]
    flagged: tuple[int, ...]
    listed: bool = False

    @property
    def void(self) -> bool:
        """True where fewer than half of the sets would be left: the rule is meant for 25 of them."""
        return 2 * (len(self.sets) - len(self.flagged)) < len(self.sets)

    @property
    def kept(self) -> tuple[int, ...]:
        """The sets to average over; all of them where the rule is void."""
        return self.sets if self.void else tuple(index for index in self.sets if index not in self.flagged)

    @property
    def excluded(self) -> tuple[int, ...]:
        return () if self.void else self.flagged


def published(metrics: pd.DataFrame, task: str, listed: bool = False) -> Exclusion:
    """The rule applied to the distances of one task; `listed`: the published list, where there is one."""
    distances = comparable(metrics[metrics.task == task])
    sets = tuple(sorted(distances.set.unique().tolist()))
    if listed and task in PUBLISHED_LISTS:
        return Exclusion(
            task, sets, tuple(index for index in sets if index in PUBLISHED_LISTS[task]), listed=True
        )
    flagged = set(ALWAYS_EXCLUDED.get(task, ()))
    judged = distances[(distances.method == METHOD) & (distances.n_train > ABOVE_N_TRAIN)]
    for _, cell in judged.groupby(["n_train", "n", "steps"]):
        for metric in METRICS:
            flagged |= outliers(cell.set_index("set")[metric])
    return Exclusion(task, sets, tuple(index for index in sets if index in flagged))


def outliers(distances: pd.Series) -> set[int]:
    """The index of every distance above the 0.99 quantile of the finite ones, or not finite."""
    values = distances.to_numpy(float)
    finite = np.isfinite(values)
    if not finite.any():
        return set(distances.index.tolist())
    flagged = ~finite | (values > np.quantile(values[finite], QUANTILE))
    return set(distances.index[flagged].tolist())


def keep(metrics: pd.DataFrame, exclusion: Exclusion) -> pd.DataFrame:
    """The task's distances on the kept sets."""
    return metrics[(metrics.task == exclusion.task) & metrics.set.isin(exclusion.kept)]


def numbers(sets: tuple[int, ...]) -> str:
    """Sets by the paper's numbers: `1, 3, 25`."""
    return ", ".join(str(index + 1) for index in sets) or "none"

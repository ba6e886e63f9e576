"""The three distances of one task, all methods: tables sbibm_slcp, sbibm_lotka_volterra, sbibm_sir.

Every average is given twice: over all parameter sets, and over the sets that the published exclusion rule
keeps (`exclusion`), which is what the paper's printed numbers are averages of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tallsbi.metrics.validity import is_lost
from tallsbi.study.analysis import exclusion
from tallsbi.study.analysis.ranking import RULE, by_method, rank_metrics
from tallsbi.study.settings.artifacts import SbibmTables
from tallsbi.study.tables.render import METRICS, Table, number, spread

_CELL_COLUMNS = ["mean", "std", "sets", "lost", "invalid", "best", "tied"]
_RANK_COLUMNS = [*_CELL_COLUMNS, "blown_up", "p_value"]
_BEST_MARK = " *"


def make(data: Mapping[str, pd.DataFrame], settings: SbibmTables, *, task: str) -> Table:
    """`data`: the `metrics` of all tasks and the `paper`'s printed rows; `task`: the one that the table shows."""
    metrics = data["metrics"][data["metrics"].task == task]
    if metrics.empty:
        raise ValueError(
            f"task = {task!r}: no distances of this task in the data; add it to the study's tasks"
        )
    rule = exclusion.published(metrics, task, settings.listed)
    largest = metrics[metrics.n_train == metrics.n_train.max()]
    counts = _counts(settings.table_n_obs, sorted(set(largest.n.tolist())))
    tidy = pd.DataFrame([row for n in counts for row in _rows(largest[largest.n == n], rule)])
    tidy = _with_printed(tidy, data["paper"])
    return Table(tidy, _shown(tidy, rule), _note(tidy, settings, rule))


def _counts(wanted: Sequence[int], present: Sequence[int]) -> list[int]:
    """The n of the table that the data have; where none is above 1, the largest n of the data as well."""
    counts = [n for n in wanted if n in present]
    return counts if max(counts, default=0) > 1 else sorted({*counts, max(present)})


def _rows(cell: pd.DataFrame, rule: exclusion.Exclusion) -> Iterator[dict[str, Any]]:
    """One row per metric and method of the cell at one n."""
    cells = {"all": cell, "kept": exclusion.keep(cell, rule)}
    ranked = {
        sets: rank_metrics({metric: by_method(part, metric) for metric in METRICS})
        for sets, part in cells.items()
    }
    for metric in METRICS:
        ranks = [tables[metric][_RANK_COLUMNS].add_suffix(f"_{sets}") for sets, tables in ranked.items()]
        for (method, steps), averages in pd.concat(ranks, axis=1).iterrows():
            runs = cell[(cell.method == method) & (cell.steps == steps)]
            lost = runs[is_lost(runs.lost_share)]
            yield {
                "task": rule.task,
                "n_train": int(cell.n_train.iloc[0]),
                "n": int(cell.n.iloc[0]),
                "metric": metric,
                "method": method,
                "steps": int(steps),
                "samples": int(runs.samples.max()),
                **averages,
                "excluded_sets": " ".join(map(str, rule.excluded)),
                "lost_share": runs.lost_share.mean(),
                "lost_sets": " ".join(map(str, sorted(lost.set))),
                "nonfinite_from_t": lost.nonfinite_time.max(),
                "uncertified_references": int((~runs.reference_passed.astype(bool)).sum()),
            }


def _with_printed(tidy: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """The printed numbers beside ours, and whether they are in bold face or marked as the worst."""
    marks = {name: paper[name].astype(bool) for name in ("best", "worst")}
    keys, numbers = ["task", "metric", "n", "method"], ["mean", "std", "best", "worst"]
    renamed = paper.assign(**marks)[[*keys, *numbers]].rename(
        columns={name: f"paper_{name}" for name in numbers}
    )
    tidy = tidy.merge(renamed, "left", keys)
    return tidy.assign(**{f"paper_{name}": tidy[f"paper_{name}"].eq(True) for name in marks})


def _shown(tidy: pd.DataFrame, rule: exclusion.Exclusion) -> pd.DataFrame:
    """A row per n and method; per metric the two averages and the printed one."""
    digits = {metric: _digits(part.mean_all) for metric, part in tidy.groupby("metric")}
    shown = []
    for (n, method, steps), part in tidy.groupby(["n", "method", "steps"], sort=False):
        row: dict[str, Any] = {"n": n, "method": f"{method} ({steps})"}
        row["lost"] = f"{part.lost_all.max()} of {part.sets_all.max()}"
        row["lost draws"] = f"{part.lost_share.max():.1%}"
        for line in part.itertuples():
            label = METRICS[line.metric]
            row[label] = _cell(line, "all", digits[line.metric])
            row[f"{label}, kept"] = _cell(line, "kept", digits[line.metric])
            row[f"{label}, paper"] = (
                as_printed(line.paper_mean, line.paper_std) + _BEST_MARK * line.paper_best
            )
        shown.append(row)
    frame = pd.DataFrame(shown)
    return frame.drop(columns=[name for name in frame if name.endswith(", kept")]) if rule.void else frame


def _cell(line: Any, sets: str, digits: int) -> str:
    """Mean ± std over `all` or the `kept` sets, with the mark of the best, and the number of sets in the mean where
    some are lost or invalid."""
    mean, std, count, lost, invalid, best, tied = (getattr(line, f"{name}_{sets}") for name in _CELL_COLUMNS)
    if invalid and lost + invalid == count:
        return "invalid"
    averaged = f" ({count - lost - invalid} of {count})" if 0 < lost + invalid < count else ""
    return spread(mean, std, digits) + averaged + _BEST_MARK * (best or tied)


def _digits(means: pd.Series) -> int:
    """Decimals that leave the smallest mean two significant digits."""
    smallest = means.abs().dropna().min() if means.notna().any() else 1.0  # no comparison may be valid
    return int(np.clip(1 - math.floor(math.log10(max(min(smallest, 1.0), 1e-9))), 2, 4))


def as_printed(mean: float, std: float) -> str:
    """A number of the paper with the decimals it was printed with: two, or as many as it takes."""
    return "–" if pd.isna(mean) else f"{_decimals(mean)} ± {_decimals(std)}"


def _decimals(value: float) -> str:
    return number(value, printed_decimals(value))


def printed_decimals(value: float) -> int:
    return max(2, len(f"{value:g}".partition(".")[2]))


def _note(tidy: pd.DataFrame, settings: SbibmTables, rule: exclusion.Exclusion) -> str:
    label = settings.labels.get(rule.task, rule.task)
    if rule.void:
        kept = "The published exclusion rule would leave fewer than half of the sets and is not applied. "
    elif rule.listed:
        kept = (
            f"'kept': the {len(rule.kept)} sets that the published list leaves (it excludes number "
            f"{exclusion.numbers(rule.excluded)}, counted from 1, for every method); the paper's numbers are averages "
            "over the same parameters. "
        )
    else:
        kept = (
            f"'kept': the {len(rule.kept)} sets left by the published exclusion rule, which drops those where GAUSS "
            f"does worst (here number {exclusion.numbers(rule.excluded)}, counted from 1, for every method); the "
            "paper's numbers are such averages. "
        )
    doubtful = tidy.groupby("n").uncertified_references.max()
    doubt = ", ".join(f"{count} at n = {n}" for n, count in doubtful[doubtful > 0].items())
    return (
        f"{label}, N_train = {tidy.n_train.iloc[0]}, {tidy.samples.max()} samples; T in brackets. Mean ± std over "
        f"{len(rule.sets)} parameter sets. {kept}Where runs are lost or comparisons invalid the mean is over "
        "the other sets, with their number; 'lost draws': their share over all sets. * marks the best, which has the "
        f"smallest mean (of logarithms for sW), and all that tie with it. {RULE} In the paper's columns * marks the "
        "paper's bold face. MMD² is the unbiased squared MMD, which the paper prints as MMD."
        + (f" References without a passing certificate: {doubt}." if doubt else "")
    )

"""The best method per metric and task for n > 1, derived from the distances: table metric_summary.

The paper's table of this name lists the best methods without saying how they were found. Here a method's
score on a parameter set is its distance averaged over the n > 1, and the scores are compared set by set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from tallsbi.study.analysis import exclusion
from tallsbi.study.analysis.ranking import RULE, by_method, rank_metrics
from tallsbi.study.settings.artifacts import SbibmTables
from tallsbi.study.tables.render import METRICS, Table


def make(data: Mapping[str, pd.DataFrame], settings: SbibmTables) -> Table:
    """`data`: the `metrics` of all tasks, and what the `paper` lists (metric, task, method)."""
    metrics = data["metrics"]
    tasks = [task for task in (*settings.tasks, *settings.extra_tasks) if task in set(metrics.task)]
    tidy = pd.DataFrame(
        [row for task in tasks for row in _rows(metrics[metrics.task == task], task, settings.listed)]
    )
    if tidy.empty:
        raise ValueError(f"n_obs = {sorted(set(metrics.n))}: the summary needs at least one n above 1")
    printed = data["paper"].groupby(["metric", "task"]).method.agg(list).to_dict()
    rows = zip(tidy.metric, tidy.task, tidy.method, strict=True)
    tidy["paper_best"] = [method in printed.get((metric, task), []) for metric, task, method in rows]
    shown = [
        {
            "metric": METRICS[metric],
            "task": settings.labels.get(task, task),
            "best, all sets": _best(part, "all"),
            "best, kept sets": _best(part, "kept"),
            "paper": ", ".join(printed.get((metric, task), [])) or "–",
        }
        for metric in METRICS
        for task, part in tidy[tidy.metric == metric].groupby("task", sort=False)
    ]
    return Table(tidy, pd.DataFrame(shown), _note(tidy, settings.listed))


def _rows(frame: pd.DataFrame, task: str, listed: bool) -> Iterator[dict[str, Any]]:
    rule = exclusion.published(frame, task, listed)
    tall = frame[(frame.n_train == frame.n_train.max()) & (frame.n > 1)]
    if tall.empty:
        return
    scores = {metric: _scores(tall, metric) for metric in METRICS}
    kept = {metric: table[table.index.isin(rule.kept)] for metric, table in scores.items()}
    ranks = {"all": rank_metrics(scores), "kept": rank_metrics(kept)}
    for metric, table in scores.items():
        for method, steps in table.columns:
            row = {"task": task, "metric": metric, "n_train": int(tall.n_train.iloc[0])}
            row |= {"n": " ".join(map(str, sorted(set(tall.n)))), "method": method, "steps": int(steps)}
            for sets, ranked in ranks.items():
                rank = ranked[metric].loc[(method, steps)]
                row |= {f"{name}_{sets}": value for name, value in rank.items()}
            yield row | {"excluded_sets": " ".join(map(str, rule.excluded))}


def _scores(tall: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Rows: sets; columns: (method, steps); the distance averaged over n, NaN as soon as one n is lost or invalid."""
    matrices = [by_method(cell, metric) for _, cell in tall.groupby("n")]
    return sum(matrices[1:], start=matrices[0])[matrices[0].columns] / len(matrices)


def _best(part: pd.DataFrame, sets: str) -> str:
    """The best over `all` or the `kept` sets, then its ties; a method with several T has T in brackets."""
    leading = part[part[f"best_{sets}"] | part[f"tied_{sets}"]].sort_values(
        f"difference_{sets}", kind="stable"
    )
    repeated = part.method.duplicated(keep=False)
    names = [
        f"{row.method} ({row.steps})" if repeated[row.Index] else row.method for row in leading.itertuples()
    ]
    return " = ".join(names) or "none: all lost, blown up or invalid"


def _note(tidy: pd.DataFrame, listed: bool) -> str:
    methods_out = tidy[(tidy.lost_all > 0) | (tidy.blown_up_all > 0)].method
    invalid_tasks = tidy[tidy.invalid_all > 0].groupby("metric", sort=False).task.unique()
    invalid = "; ".join(f"{METRICS[metric]}: {', '.join(tasks)}" for metric, tasks in invalid_tasks.items())
    n_train = sorted(set(tidy.n_train))
    return (
        f"N_train = {', '.join(map(str, n_train))}; distances averaged over n = {tidy.n.iloc[0].replace(' ', ', ')} "
        f"on each parameter set, then compared. A = B: a tie, the best first. {RULE} Out on some task: "
        f"{', '.join(dict.fromkeys(methods_out)) or 'none'} (the CSV has the counts per task). With invalid "
        f"comparisons: {invalid or 'none'}. 'kept sets': after the published exclusion "
        f"{'lists' if listed else 'rule'}. Paper: as listed in its metric table."
    )

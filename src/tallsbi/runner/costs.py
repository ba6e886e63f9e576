"""What a job costs: its size times a rate that was fitted to the records of earlier runs.

    seconds = overhead(rule) + rate(key) * work

Every rule states the `work` of its jobs in units of its own (rows through the network, epochs times rows, ...) and
a key, `rule` or `rule/method/task`: jobs with the same key have the same rate. The overhead, mostly imports, is
common to a rule. The rates of `workflow/resources/costs.csv` come from Snakemake's records of jobs. They give every
job its memory and time limit on a cluster, and `make plan` its projection (`tallsbi.runner.plan`).
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tallsbi.storage.files import DataError, write_text

TABLE = "workflow/resources/costs.csv"
START_SECONDS = 3.0  # that every job takes at least: Python, imports, reading and writing
DEFAULT_MEMORY = 800.0  # MiB of a job of an unknown rule

# Limits for a scheduler are generous: a job over its limit is lost, and a job below it costs nothing.
_TIME_FACTOR, _TIME_EXTRA = 3.0, 600.0
_MEMORY_FACTOR, _MEMORY_EXTRA = 1.5, 300.0


@dataclass(frozen=True)
class Rate:
    """Seconds of processor time of a job: `overhead + per_unit * work`; its peak memory in MiB."""

    overhead: float
    per_unit: float
    memory: float
    records: int = 0


@dataclass(frozen=True)
class JobCost:
    """What one job took: `seconds` of processor time and its peak `memory` in MiB."""

    key: str
    work: float
    seconds: float
    memory: float


def rule_of(key: str) -> str:
    return key.partition("/")[0]


@dataclass(frozen=True)
class CostModel:
    """Rates by key.

    A key without a rate gets the highest overhead, rate and memory among the keys of its rule. A rule without any
    rate costs `START_SECONDS` and `DEFAULT_MEMORY`.
    """

    rates: Mapping[str, Rate]

    def rate(self, key: str) -> Rate:
        if key in self.rates:
            return self.rates[key]
        related = [rate for other, rate in self.rates.items() if rule_of(other) == rule_of(key)]
        if not related:
            return Rate(START_SECONDS, 0.0, DEFAULT_MEMORY)
        return Rate(
            *(max(getattr(rate, name) for rate in related) for name in ("overhead", "per_unit", "memory"))
        )

    def seconds(self, key: str, work: float) -> float:
        """Predicted seconds of processor time."""
        rate = self.rate(key)
        return rate.overhead + rate.per_unit * work

    def seconds_of(self, resources: Any, rule: str) -> float:
        """The same, from the resources of one of Snakemake's jobs; a rule that states no key costs little."""
        return self.seconds(str(resources.get("key", rule)), float(resources.get("work", 1)))

    def runtime(self, key: str, work: float, attempt: int = 1) -> int:
        """A time limit in minutes; each new attempt gets more."""
        return math.ceil((_TIME_FACTOR * self.seconds(key, work) + _TIME_EXTRA) / 60) * attempt

    def mem_mb(self, key: str, attempt: int = 1) -> int:
        """A memory limit in MB, a multiple of 100; each new attempt gets twice as much."""
        limit = _MEMORY_FACTOR * self.rate(key).memory + _MEMORY_EXTRA
        return math.ceil(limit / 100) * 100 * 2 ** (attempt - 1)


def fit(costs: Iterable[JobCost]) -> CostModel:
    """The rates that predict the costs best, as ratios: a factor 2 counts the same for short and long jobs.

    One more cost is assumed for every rule: a job without work takes `START_SECONDS`. Without it, a rule whose jobs
    are all of one size would not show how much of their time is overhead.
    """
    by_rule: dict[str, list[JobCost]] = {}
    for cost in costs:
        by_rule.setdefault(rule_of(cost.key), []).append(cost)
    rates = {key: rate for group in by_rule.values() for key, rate in _fit_rule(group).items()}
    return CostModel(dict(sorted(rates.items())))


def _fit_rule(costs: list[JobCost]) -> dict[str, Rate]:
    import numpy as np
    from scipy.optimize import nnls

    keys = sorted({cost.key for cost in costs})
    rows = np.zeros((len(costs) + 1, len(keys) + 1))
    for row, cost in zip(rows, costs, strict=False):
        row[0] = 1 / cost.seconds
        row[1 + keys.index(cost.key)] = cost.work / cost.seconds
    rows[-1, 0] = 1 / START_SECONDS
    scale = rows.max(axis=0)
    overhead, *per_unit = nnls(rows / scale, np.ones(len(rows)))[0] / scale
    rates = {}
    for key, rate in zip(keys, per_unit, strict=True):
        memory = [cost.memory for cost in costs if cost.key == key]
        rates[key] = Rate(float(overhead), float(rate), max(memory) or DEFAULT_MEMORY, len(memory))
    return rates


def adapted_model(model: CostModel, costs: Iterable[JobCost]) -> CostModel:
    """The model for the machine that the costs are from: all rates times the median ratio of actual to predicted.

    A key that the model does not know gets the rate that its own costs give.
    """
    costs = list(costs)
    ratios = [cost.seconds / model.seconds(cost.key, cost.work) for cost in costs if cost.key in model.rates]
    slowdown = statistics.median(ratios) if ratios else 1.0
    rates = {
        key: replace(rate, overhead=rate.overhead * slowdown, per_unit=rate.per_unit * slowdown)
        for key, rate in model.rates.items()
    }
    return CostModel({**fit(costs).rates, **rates})


_COLUMNS = ("key", "overhead_s", "s_per_unit", "memory_mib", "records")


def read_model(path: str | Path) -> CostModel:
    """The rates of a table; none if there is no such file."""
    path = Path(path)
    if not path.exists():
        return CostModel({})
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            rows = [[row[name] for name in _COLUMNS] for row in csv.DictReader(lines, strict=True)]
        return CostModel({key: Rate(*map(float, numbers), int(count)) for key, *numbers, count in rows})
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise DataError(f"{path} is damaged ({error!r}): restore it, or run `make calibrate`") from error


def write_model(model: CostModel, path: str | Path) -> None:
    lines = [
        f"{key},{rate.overhead:.3g},{rate.per_unit:.4g},{rate.memory:.0f},{rate.records}"
        for key, rate in model.rates.items()
    ]
    write_text("\n".join([",".join(_COLUMNS), *lines]) + "\n", path)

"""What a job costs: its size times a rate that was fitted to the records of earlier runs.

    seconds = overhead(rule) + rate(key) * work

Every rule states the `work` of its jobs in units of its own (rows through the network, epochs times rows, ...) and
a key, `rule` or `rule/method/task`: jobs with the same key have the same rate. The overhead, imports mostly, is
common to a rule. The rates of `workflow/resources/costs.csv` come from the `benchmark:` records of Snakemake; they
give every job its memory and time limit on a cluster, and `make plan` its projection (`tallsbi.runner.plan`).
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tallsbi.storage.files import DataError, write_text

TABLE = "workflow/resources/costs.csv"
START = 3.0
"""Seconds a job takes at least: Python, imports, reading and writing."""
MEMORY = 800.0
"""MiB of a job nothing is known about."""

# Limits for a scheduler: generous, for a job over its limit is lost, and one below it costs nothing.
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
    """Rates by key. An unknown key is as dear as the dearest one of its rule; an unknown rule costs its start."""

    rates: Mapping[str, Rate]

    def rate(self, key: str) -> Rate:
        if key in self.rates:
            return self.rates[key]
        related = [rate for known, rate in self.rates.items() if rule_of(known) == rule_of(key)]
        if not related:
            return Rate(overhead=START, per_unit=0.0, memory=MEMORY)
        return Rate(
            overhead=max(rate.overhead for rate in related),
            per_unit=max(rate.per_unit for rate in related),
            memory=max(rate.memory for rate in related),
        )

    def seconds(self, key: str, work: float) -> float:
        """Predicted seconds of processor time."""
        rate = self.rate(key)
        return rate.overhead + rate.per_unit * work

    def runtime(self, key: str, work: float, attempt: int = 1) -> int:
        """A time limit in minutes; a repeated job gets more."""
        return math.ceil((_TIME_FACTOR * self.seconds(key, work) + _TIME_EXTRA) / 60) * attempt

    def mem_mb(self, key: str, attempt: int = 1) -> int:
        """A memory limit in MB, a multiple of 100; doubled for every repetition."""
        limit = _MEMORY_FACTOR * self.rate(key).memory + _MEMORY_EXTRA
        return math.ceil(limit / 100) * 100 * 2 ** (attempt - 1)


def fit(records: Iterable[JobCost]) -> CostModel:
    """The rates that predict the records best, as ratios: a factor 2 counts the same for short and long jobs.

    A job without work is assumed to take `START` seconds, as one more record of every rule: without it a rule
    whose jobs are all of one size would not say how much of their time is overhead.
    """
    by_rule: dict[str, list[JobCost]] = {}
    for record in records:
        by_rule.setdefault(rule_of(record.key), []).append(record)
    rates: dict[str, Rate] = {}
    for group in by_rule.values():
        rates |= _fit_rule(group)
    return CostModel(dict(sorted(rates.items())))


def _fit_rule(records: list[JobCost]) -> dict[str, Rate]:
    import numpy as np
    from scipy.optimize import nnls

    keys = sorted({record.key for record in records})
    rows = np.zeros((len(records) + 1, len(keys) + 1))
    for row, record in zip(rows, records, strict=False):
        row[0] = 1 / record.seconds
        row[1 + keys.index(record.key)] = record.work / record.seconds
    rows[-1, 0] = 1 / START
    scale = rows.max(axis=0)
    overhead, *per_unit = nnls(rows / scale, np.ones(len(rows)))[0] / scale
    return {
        key: Rate(
            overhead=float(overhead),
            per_unit=float(rate),
            memory=max(record.memory for record in records if record.key == key) or MEMORY,
            records=sum(record.key == key for record in records),
        )
        for key, rate in zip(keys, per_unit, strict=True)
    }


def adapted(model: CostModel, records: Iterable[JobCost]) -> CostModel:
    """The model for the machine of the records: how much slower it is than predicted, as the median over them.

    A rule or method the model does not know gets the rate its own records give.
    """
    records = list(records)
    known = [record for record in records if record.key in model.rates]
    slower = statistics.median([r.seconds / model.seconds(r.key, r.work) for r in known]) if known else 1.0
    rates = {
        key: replace(rate, overhead=rate.overhead * slower, per_unit=rate.per_unit * slower)
        for key, rate in model.rates.items()
    }
    return CostModel({**fit(records).rates, **rates})


_COLUMNS = ("key", "overhead_s", "s_per_unit", "memory_mib", "records")


def read_model(path: str | Path) -> CostModel:
    """The rates of a table; none if there is no such file."""
    path = Path(path)
    if not path.exists():
        return CostModel({})
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            return CostModel(
                {
                    row["key"]: Rate(
                        float(row["overhead_s"]),
                        float(row["s_per_unit"]),
                        float(row["memory_mib"]),
                        int(row["records"]),
                    )
                    for row in csv.DictReader(lines, strict=True)
                }
            )
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise DataError(f"{path} is damaged ({error!r}): restore it, or run `make calibrate`") from error


def write_model(model: CostModel, path: str | Path) -> None:
    lines = [",".join(_COLUMNS)]
    lines += [
        f"{key},{rate.overhead:.3g},{rate.per_unit:.4g},{rate.memory:.0f},{rate.records}"
        for key, rate in model.rates.items()
    ]
    write_text("\n".join(lines) + "\n", path)

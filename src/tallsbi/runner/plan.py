"""What a run will cost, before it is run: its jobs from Snakemake, their times from `tallsbi.runner.costs`.

    python -m tallsbi.runner.plan [--scale NAME] [--protocol NAME] [--config 'KEY=VALUE ...'] [--calibrate]

Snakemake itself says which jobs a run has (a dry run of everything) and how large each is (`resources: work`).
The rates are those of `workflow/resources/costs.csv`, times the speed of this machine as the records of the runs
under `results/` show it; `--calibrate` writes the rates of these records into that file.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.runner.costs import TABLE, CostModel, Record, adapted, fit, read_model, write_model
from tallsbi.runner.job_records import read_benchmark
from tallsbi.runner.launch import options, run_of, settings

if TYPE_CHECKING:
    import pandas as pd

SCALES = ("smoke", "laptop", "paper")
# Rules that only name targets.
_TARGETS = {"all", "toy", "sbibm", "jrnmm"}
_FIELD = re.compile(r"^    (\w+): (.*)$")
_RULE = re.compile(r"^(?:local)?rule (\w+):$")


class PlanError(RuntimeError):
    """Snakemake cannot say what it would do."""


@dataclass(frozen=True)
class PlannedJob:
    """One job of a run: its rule, the key and amount of its work, and where its record will be."""

    rule: str
    key: str
    work: float
    threads: int
    benchmark: str | None


def planned_jobs(root: Path, chosen: Sequence[str] = (), configfile: Path | None = None) -> list[PlannedJob]:
    """All jobs of a run, whether or not they are done; `chosen` are `key=value` for Snakemake's --config."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--forceall", "--nolock", "--cores", "2"]
    command += ["--nocolor"]
    command += ["--configfile", str(configfile)] if configfile else []
    command += ["--config", *chosen] if chosen else []
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PlanError(f"snakemake --dry-run failed:\n{(done.stderr or done.stdout).strip()}")
    return list(_parse(done.stdout + done.stderr))


def _parse(text: str) -> Iterator[PlannedJob]:
    rule, fields = "", {}
    for line in [*text.splitlines(), "rule end:"]:
        if found := _RULE.match(line):
            if rule and rule not in _TARGETS:
                yield _job(rule, fields)
            rule, fields = found[1], {}
        elif found := _FIELD.match(line):
            fields.setdefault(found[1], found[2])


def _job(rule: str, fields: dict[str, str]) -> PlannedJob:
    resources = dict(item.partition("=")[::2] for item in fields.get("resources", "").split(", "))
    return PlannedJob(
        rule=rule,
        key=resources.get("key", rule),
        work=float(resources.get("work", 1)),
        threads=int(fields.get("threads", 1)),
        benchmark=fields.get("benchmark"),
    )


def finished(jobs: Sequence[PlannedJob], root: Path) -> list[tuple[PlannedJob, Record]]:
    """The jobs that have run, each with what it has taken."""
    return [(job, record) for job in jobs if (record := _record(job, root)) is not None]


def _record(job: PlannedJob, root: Path) -> Record | None:
    if job.benchmark is None or not (root / job.benchmark).exists():
        return None
    taken = read_benchmark(root / job.benchmark)
    return Record(job.key, job.work, max(taken.processor, 0.1), taken.memory)


def stage_of(rule: str) -> str:
    """The rule's stage in tables: every figure and table has a rule of its own, which says little there."""
    for prefix, stage in (("draw_", "draw figures"), ("make_", "make tables"), ("collect_", "collect")):
        if rule.startswith(prefix):
            return stage
    return rule


def summary(jobs: Sequence[PlannedJob], seconds: Sequence[float], memory: Sequence[float]) -> pd.DataFrame:
    """Per stage: jobs, core-hours, share, longest job in hours, peak memory in MiB; dearest first."""
    import pandas as pd

    frame = pd.DataFrame(
        {"stage": [stage_of(job.rule) for job in jobs], "seconds": seconds, "memory": memory}
    )
    by_stage = frame.groupby("stage").agg(
        jobs=("seconds", "size"),
        core_hours=("seconds", "sum"),
        longest_h=("seconds", "max"),
        peak_mib=("memory", "max"),
    )
    by_stage[["core_hours", "longest_h"]] /= 3600
    by_stage.insert(2, "share", by_stage.core_hours / by_stage.core_hours.sum())
    return by_stage.sort_values("core_hours", ascending=False).reset_index()


def projected(jobs: Sequence[PlannedJob], model: CostModel) -> pd.DataFrame:
    """The summary of what the jobs will take."""
    return summary(
        jobs,
        [model.seconds(job.key, job.work) for job in jobs],
        [model.rate(job.key).memory for job in jobs],
    )


def measured(done: Sequence[tuple[PlannedJob, Record]]) -> pd.DataFrame:
    """The summary of what jobs have taken."""
    return summary(
        [job for job, _ in done],
        [record.seconds for _, record in done],
        [record.memory for _, record in done],
    )


def recorded_runs(root: Path) -> list[str]:
    """The scales with a run under `results/` that has records."""
    return [scale for scale in SCALES if (root / "results" / scale / "records").is_dir()]


def local_records(root: Path) -> list[Record]:
    """The records of all runs under `results/` that are named by their scale."""
    records = []
    for scale in recorded_runs(root):
        done = finished(planned_jobs(root, [f"scale={scale}"]), root)
        records += [record for _, record in done]
    return records


def cost_table(root: Path, configfile: Path, protocol: str, scale: str = "paper") -> pd.DataFrame:
    """What the run of a configuration has taken per stage, and what the run of another scale will take.

    The column `run` says `measured`, or names the scale of the projection, which is left out if that scale cannot be
    planned, say because a method of this configuration has no size there.
    """
    import pandas as pd

    done = finished(planned_jobs(root, configfile=configfile), root)
    model = adapted(read_model(root / TABLE), [record for _, record in done])
    tables = {"measured": measured(done)}
    try:
        tables[scale] = projected(planned_jobs(root, [f"scale={scale}", f"protocol={protocol}"]), model)
    except PlanError as error:
        logging.getLogger(__name__).warning("no projection to %s: %s", scale, error)
    return pd.concat([table.assign(run=run) for run, table in tables.items()], ignore_index=True)


def headline(name: str, table: pd.DataFrame) -> str:
    hours = table.core_hours.sum()
    effort = f"{hours:,.0f} core-hours" if hours >= 10 else f"{hours:.1f} core-hours"
    return f"{name}: {table.jobs.sum():,} jobs, about {effort}, longest job {table.longest_h.max():.1f} h"


def shown(table: pd.DataFrame) -> str:
    text = table.assign(
        core_hours=table.core_hours.map("{:.2f}".format),
        share=table.share.map("{:.0%}".format),
        longest_h=table.longest_h.map("{:.2f}".format),
        peak_mib=table.peak_mib.map("{:.0f}".format),
    )
    return text.to_string(index=False)


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument(
        "--calibrate", action="store_true", help="write the rates of the records under results/"
    )
    given, root = parser.parse_args(arguments), root or Path.cwd()
    try:
        if given.calibrate:
            return _calibrate(root)
        model = adapted(read_model(root / TABLE), local_records(root))
        table = projected(planned_jobs(root, settings(given)), model)
    except PlanError as error:
        print(error, file=sys.stderr)
        return 1
    print(shown(table))
    print(headline(run_of(given, root), table))
    return 0


def _calibrate(root: Path) -> int:
    records = local_records(root)
    if not records:
        print("no records under results/: run `make results` first", file=sys.stderr)
        return 1
    model = CostModel({**read_model(root / TABLE).rates, **fit(records).rates})
    write_model(CostModel(dict(sorted(model.rates.items()))), root / TABLE)
    print(f"{TABLE}: {len(model.rates)} rates from {len(records)} records")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a run will cost, before it is run: its jobs from Snakemake, their times from `tallsbi.runner.costs`.

A dry run of everything shows which jobs a run has and how large each is (`resources: work`). The rates are those of
`workflow/resources/costs.csv`, times the speed of this machine, which the records of the runs under `results/` show.
Jobs on a GPU were never measured: their cost follows from the assumed `GPU_SPEED`, and the plan says so.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.runner import dry_run
from tallsbi.runner.config import overlays
from tallsbi.runner.costs import TABLE, CostModel, JobCost, adapted_model, fit, read_model, write_model
from tallsbi.runner.job_records import read_job_record
from tallsbi.runner.options import Run

if TYPE_CHECKING:
    import pandas as pd

GPU_SPEED = 50.0
"""How many cores a GPU is taken to replace: 5 of the 20 TFLOP/s of a large card, 0.1 of a core. Not measured."""

Stages = Mapping[str, str]
"""Start of a rule's name -> its stage in tables, where many rules form one; any other rule is a stage of its own."""


class PlanError(RuntimeError):
    """Snakemake cannot say what it would do."""


@dataclass(frozen=True)
class PlannedJob:
    """One job of a run: its rule, the key and amount of its work, where its record will be, what it asks for."""

    rule: str
    key: str
    work: float
    threads: int
    record: str | None
    mem_mb: float | None = None
    minutes: float | None = None
    gpu: bool = False


def planned_jobs(
    root: Path, settings: Sequence[str] = (), configfile: Path | None = None
) -> list[PlannedJob]:
    """All jobs of a run, whether or not they are done; `settings` are `key=value` for Snakemake's --config."""
    command = [sys.executable, "-m", "snakemake", *dry_run.OPTIONS, "--forceall", "--cores", "2"]
    command += ["--configfile", str(configfile)] if configfile else []
    command += ["--config", *settings] if settings else []
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PlanError(f"snakemake --dry-run failed:\n{(done.stderr or done.stdout).strip()}")
    return list(_jobs(done.stdout + done.stderr))


def _jobs(text: str) -> Iterator[PlannedJob]:
    for rule, fields in dry_run.printed_jobs(text):
        if "output" in fields:  # others only name targets
            yield _job(rule, fields)


def _job(rule: str, fields: dict[str, str]) -> PlannedJob:
    resources = dict(item.partition("=")[::2] for item in fields.get("resources", "").split(", "))
    return PlannedJob(
        rule=rule,
        key=resources.get("key", rule),
        work=float(resources.get("work", 1)),
        threads=int(fields.get("threads", 1)),
        record=fields.get("benchmark"),
        mem_mb=_number(resources.get("mem_mb")),
        minutes=_number(resources.get("runtime")),
        gpu=bool(_number(resources.get("gpu"))),
    )


def _number(text: str | None) -> float | None:
    return float(text) if text and text.replace(".", "", 1).isdigit() else None  # a value may be "<TBD>"


def finished_jobs(jobs: Sequence[PlannedJob], root: Path) -> list[tuple[PlannedJob, JobCost]]:
    """The jobs that have run, each with what it took."""
    return [(job, cost) for job in jobs if (cost := _cost(job, root)) is not None]


def _cost(job: PlannedJob, root: Path) -> JobCost | None:
    if job.record is None or not (root / job.record).exists():
        return None
    record = read_job_record(root / job.record)
    return JobCost(job.key, job.work, max(record.processor, 0.1), record.memory)


def summary(
    jobs: Sequence[PlannedJob], seconds: Sequence[float], memory: Sequence[float], stages: Stages
) -> pd.DataFrame:
    """Per stage: jobs, core-hours, share, longest job in hours, peak memory in MiB; the most expensive first."""
    import pandas as pd

    job_stages = [
        next((stages[start] for start in stages if job.rule.startswith(start)), job.rule) for job in jobs
    ]
    frame = pd.DataFrame({"stage": job_stages, "seconds": seconds, "memory": memory})
    by_stage = frame.groupby("stage").agg(
        jobs=("seconds", "size"),
        core_hours=("seconds", "sum"),
        longest_h=("seconds", "max"),
        peak_mib=("memory", "max"),
    )
    by_stage[["core_hours", "longest_h"]] /= 3600
    by_stage.insert(2, "share", by_stage.core_hours / by_stage.core_hours.sum())
    return by_stage.sort_values("core_hours", ascending=False).reset_index()


def projected_summary(jobs: Sequence[PlannedJob], model: CostModel, stages: Stages) -> pd.DataFrame:
    """The summary of what the jobs will take; the hours of a job that asks for a GPU are those of the GPU."""
    seconds = [_seconds(job, model) for job in jobs]
    return summary(jobs, seconds, [model.rate(job.key).memory for job in jobs], stages)


def _seconds(job: PlannedJob, model: CostModel) -> float:
    rate = model.rate(job.key)
    return rate.overhead + rate.per_unit * job.work / (GPU_SPEED if job.gpu else 1.0)


def measured_summary(finished: Sequence[tuple[PlannedJob, JobCost]], stages: Stages) -> pd.DataFrame:
    """The summary of what jobs took."""
    jobs, costs = [job for job, _ in finished], [cost for _, cost in finished]
    return summary(jobs, [cost.seconds for cost in costs], [cost.memory for cost in costs], stages)


def local_costs(root: Path) -> list[JobCost]:
    """What the jobs took in all runs under `results/` that are named by their scale."""
    scales = [scale for scale in overlays(root, "scale") if (root / "results" / scale / "records").is_dir()]
    return [
        cost for scale in scales for _, cost in finished_jobs(planned_jobs(root, [f"scale={scale}"]), root)
    ]


def cost_table(root: Path, configfile: Path, protocol: str, scale: str, stages: Stages) -> pd.DataFrame:
    """What the run of a configuration took per stage, and what the run of another scale will take.

    The column `run` says `measured`, or names the scale of the projection. The projection is left out if that scale
    cannot be planned, for example because a method of this configuration has no size there.
    """
    import pandas as pd

    finished = finished_jobs(planned_jobs(root, configfile=configfile), root)
    model = adapted_model(read_model(root / TABLE), [cost for _, cost in finished])
    tables = {"measured": measured_summary(finished, stages)}
    try:
        jobs = planned_jobs(root, [f"scale={scale}", f"protocol={protocol}"])
        tables[scale] = projected_summary(jobs, model, stages)
    except PlanError as error:
        logging.getLogger(__name__).warning("no projection to %s: %s", scale, error)
    return pd.concat([table.assign(run=run) for run, table in tables.items()], ignore_index=True)


def headline(name: str, table: pd.DataFrame) -> str:
    effort = _hours(table.core_hours.sum(), "core")
    return f"{name}: {table.jobs.sum():,} jobs, about {effort}, longest job {table.longest_h.max():.1f} h"


def gpu_headline(jobs: Sequence[PlannedJob], model: CostModel) -> str:
    """What the jobs that ask for a GPU will take of one, by the stated rate."""
    on_gpu = [job for job in jobs if job.gpu]
    hours = sum(_seconds(job, model) for job in on_gpu) / 3600
    cores = sum(model.seconds(job.key, job.work) for job in on_gpu) / 3600
    return (
        f"of these on a GPU: {len(on_gpu):,} jobs, about {_hours(hours, 'GPU')} instead of {_hours(cores, 'core')}, "
        f"if a GPU does the work of {GPU_SPEED:g} cores: a stated rate, not measured"
    )


def _hours(hours: float, unit: str) -> str:
    return f"{hours:,.0f} {unit}-hours" if hours >= 10 else f"{hours:.1f} {unit}-hours"


def describe(run: Run, stages: Stages) -> str:
    """What the run will cost, as a table and a headline."""
    model = adapted_model(read_model(run.root / TABLE), local_costs(run.root))
    jobs = planned_jobs(run.root, run.settings)
    table = projected_summary(jobs, model, stages)
    formats = {"core_hours": "{:.2f}", "share": "{:.0%}", "longest_h": "{:.2f}", "peak_mib": "{:.0f}"}
    text = table.assign(**{name: table[name].map(form.format) for name, form in formats.items()})
    lines = [text.to_string(index=False), headline(run.name, table)]
    return "\n".join([*lines, gpu_headline(jobs, model)] if any(job.gpu for job in jobs) else lines)


def calibrate(root: Path) -> int:
    """Fits the rates to the records under results/ and writes them to the cost table; returns the exit code."""
    costs = local_costs(root)
    if not costs:
        print("no records under results/: run `make results` first", file=sys.stderr)
        return 1
    rates = {**read_model(root / TABLE).rates, **fit(costs).rates}
    write_model(CostModel(dict(sorted(rates.items()))), root / TABLE)
    print(f"{TABLE}: {len(rates)} rates from {len(costs)} records")
    return 0

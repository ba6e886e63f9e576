"""The plan of a run: what is read off Snakemake's dry run and its records, and what is made of it."""

from pathlib import Path

import pytest

from tallsbi.runner import plan
from tallsbi.runner.costs import CostModel, Rate, adapted_model
from tallsbi.runner.options import Run
from tallsbi.runner.plan import PlannedJob, finished_jobs, headline, measured_summary, projected_summary

DRY_RUN = """\
Building DAG of jobs...
[Mon Nov 16 14:22:23 2026]
rule train_network:
    input: results/smoke/sbibm/sir/simulations.nc
    output: a/network.safetensors, a/losses.csv
    log: results/smoke/logs/a.log
    jobid: 64
    benchmark: records/a.tsv
    reason: Forced execution
    wildcards: task=sir
    resources: tmpdir=/tmp, key=train_network, work=370, runtime=11, mem_mb=1500, mem=1.5 GB, mem_mib=1431
[Mon Nov 16 14:22:23 2026]
rule time_toy:
    output: t.csv
    benchmark: records/t.tsv
    threads: 2
    resources: tmpdir=/tmp, key=time_toy/mixture, work=1000, runtime=11, mem_mb=1500, mem=1.5 GB, mem_mib=1431
localrule all:
    input: t.csv
    resources: tmpdir=/tmp
rule collect_toy:
    output: c.csv
    resources: tmpdir=/tmp
Job stats:
job      count
"""
STAGES = {"draw_": "draw figures", "make_": "make tables", "collect_": "collect"}
JOBS = [
    PlannedJob("train_network", "train_network", 370, 1, "records/a.tsv", 1500, 11),
    PlannedJob("time_toy", "time_toy/mixture", 1000, 2, "records/t.tsv", 1500, 11),
    PlannedJob("collect_toy", "collect_toy", 1, 1, None),
]
RECORD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "records").mkdir()
    (tmp_path / "records/a.tsv").write_text(RECORD + "40.0\t0:00:40\t300.5\t0\t0\t0\t0\t0\t35.00\t13.95\n")
    (tmp_path / "records/t.tsv").write_text(RECORD + "0.4\t0:00:00\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n")
    return tmp_path


def test_jobs_are_read_off_the_dry_run():
    assert list(plan._jobs(DRY_RUN)) == JOBS


def test_records_give_processor_time_and_memory(root):
    (_, trained), (_, timed) = finished_jobs(JOBS, root)
    # 13.95 s at the last look, after 15.5 s of 40.
    assert (trained.key, trained.work, trained.memory) == ("train_network", 370, 300.5)
    assert trained.seconds == pytest.approx(36)
    # Over before it was looked at: the clock is all there is.
    assert (timed.seconds, timed.memory) == (0.4, 0)


def test_stages_gather_the_many_figures():
    jobs = [
        PlannedJob(rule, rule, 1, 1, None) for rule in ("draw_partial", "draw_toy", "collect_toy", "train")
    ]
    table = projected_summary(jobs, CostModel({}), STAGES).set_index("stage")
    assert dict(table.jobs) == {"draw figures": 2, "collect": 1, "train": 1}


def test_projection_adds_up_jobs(root):
    model = CostModel({"train_network": Rate(6, 10, 300, 1)})
    table = projected_summary(JOBS, model, STAGES).set_index("stage")
    assert table.loc["train_network", "core_hours"] == pytest.approx((6 + 3700) / 3600)
    assert table.share.sum() == pytest.approx(1)
    assert table.index[0] == "train_network"
    assert headline("paper", table.reset_index()) == "paper: 3 jobs, about 1.0 core-hours, longest job 1.0 h"
    assert measured_summary(finished_jobs(JOBS, root), STAGES).jobs.sum() == 2


def test_a_job_that_asks_for_a_gpu_is_read_and_costs_what_is_stated(root, monkeypatch):
    asked = DRY_RUN.replace("key=train_network,", "key=train_network, gpu=1,")
    jobs = list(plan._jobs(asked))
    assert [job.gpu for job in jobs] == [True, False, False]
    model = CostModel({"train_network": Rate(6, 1000, 300, 1)})
    table = projected_summary(jobs, model, STAGES).set_index("stage")
    assert table.loc["train_network", "core_hours"] == pytest.approx((6 + 370_000 / plan.GPU_SPEED) / 3600)
    assert plan.gpu_headline(jobs, model) == (
        "of these on a GPU: 1 jobs, about 2.1 GPU-hours instead of 103 core-hours, if a GPU does the work of 50 cores: "
        "a stated rate, not measured"
    )
    monkeypatch.setattr(plan, "local_costs", lambda root: [])
    for planned, says in ((jobs, True), (JOBS, False)):
        monkeypatch.setattr(plan, "planned_jobs", lambda root, settings, planned=planned: planned)
        assert ("GPU-hours" in plan.describe(Run(root, "smoke", ()), STAGES)) is says


def test_model_adapts_to_a_slower_machine_and_learns_new_keys(root):
    model = CostModel({"train_network": Rate(0, 36 / 370 / 2, 300, 5)})
    slower = adapted_model(model, [record for _, record in finished_jobs(JOBS, root)])
    assert slower.seconds("train_network", 370) == pytest.approx(36)
    assert slower.rates["time_toy/mixture"].records == 1
    assert adapted_model(model, []).rates == model.rates


def test_a_scale_that_cannot_be_planned_is_left_out(root, monkeypatch):
    def planned(root, settings=(), configfile=None):
        if settings:
            raise plan.PlanError("methods.NEW.steps is missing")
        return JOBS

    monkeypatch.setattr(plan, "planned_jobs", planned)
    table = plan.cost_table(root, root / "config.json", "published", "paper", STAGES)
    assert set(table.run) == {"measured"}


def test_a_dry_run_that_fails_says_why(tmp_path):
    with pytest.raises(plan.PlanError, match="Snakefile"):
        plan.planned_jobs(tmp_path)

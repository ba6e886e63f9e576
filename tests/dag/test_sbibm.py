"""The sbibm part on a few small tasks, run for real from simulation to tables and figures."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import xarray as xr
import yaml

from study import Study, clone, setting

pytestmark = pytest.mark.dag

TASKS = ["sir", "two_moons"]
SIZES = """
tasks: [sir]
extra_tasks: [two_moons]
sets: 2
n_obs: [1, 3]
n_train: [400]
simulations: 400
observations: 4
epochs: 30
samples: 40
reference: {chains: 4, warmup: 100, draws: 300, min_ess: 100, max_rhat: 1.05}
partial: {n_max: [1, 2]}
steps: {grid: [2, 4], samples: 20}
many: {tasks: [sir], n_obs: [1, 4], samples: 20, max_steps: 4}
horizon: {tasks: [sir], datasets: 6, n_obs: [1, 3], samples: 10}
refined: {tasks: [sir], sets: 1, n_obs: [3], samples: 20, simulations: 1000}
"""
METHODS = """
GAUSS: {steps: 20, cov_samples: 50}
JAC: {steps: 20}
LANGEVIN: {steps: 20}
DET_GEF: {steps: 20}
TAMED: {steps: 20}
GAUSS_PD: {steps: 4, cov_samples: 20, cov_steps: 4}
"""
CONFIG = ("--config", setting("sbibm", SIZES), setting("methods", METHODS), "run=smoke")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    study = clone(tmp_path_factory.mktemp("sbibm") / "study")
    study.run("sbibm", *CONFIG)
    return study


def test_second_run_has_nothing_to_do(finished):
    assert finished.planned("sbibm", *CONFIG) == {}


def test_distances_cover_every_cell_that_is_needed_with_each_n_and_set(finished):
    frame = pd.read_csv(finished.root / "results/smoke/sbibm/distances.csv")
    assert not frame.duplicated(["task", "n_train", "n", "set", "method"]).any()
    runs = frame.groupby("task").method.unique().map(set)
    assert runs["two_moons"] == {"GAUSS", "GAUSS-clip", "JAC-clip", "LANGEVIN", "LANGEVIN-clip"}
    assert runs["sir"] == runs["two_moons"] | {"JAC", "DET_GEF", "DET_GEF-clip", "TAMED", "TAMED-clip"}
    assert len(frame) == 2 * 2 * (5 + 10)
    finite = frame[frame.lost_share == 0]
    assert len(finite) > len(frame) / 2
    assert (finite.sw > 0).all()
    assert finite.c2st.between(0, 1).all()
    assert frame[frame.lost_share > 0.01][["sw", "mmd", "c2st"]].isna().all(axis=None)
    assert set(frame[frame.method.str.endswith("-clip")].lost_share) <= {0.0, 1.0}


def drawn(jobs) -> set[str]:
    """The folders of samples that jobs fill."""
    rules = ("sample", "sample_plain", "sample_clipped")
    outputs = [output for rule in rules for output in jobs.get(rule, [])]
    return {output.rpartition("/")[0].removeprefix("results/smoke/sbibm/") for output in outputs}


def test_a_cell_that_is_asked_for_is_one_more_job_and_one_that_is_not_needed_is_none(finished):
    asked = setting("sbibm", SIZES + "cells: [two_moons/TAMED-clip]")
    jobs = finished.planned("sbibm", "--config", asked, *CONFIG[2:])
    assert drawn(jobs) == {"two_moons/n_train~400/samples/TAMED-clip"}
    assert "results/smoke/sbibm/two_moons/n_train~400/samples/distances.csv" in jobs["measure"]
    assert len(jobs["measure"]) == 1
    assert "train" not in jobs
    refused = finished.snakemake(
        "--dry-run", "results/smoke/sbibm/two_moons/n_train~400/samples/TAMED/batch~1-of-1.nc", *CONFIG
    )
    assert refused.returncode != 0


def test_without_an_artifact_there_are_no_jobs_that_only_it_needs(finished):
    everything = drawn(finished.planned("sbibm", "--forceall", *CONFIG))
    left_out = ("sbibm_extra", "metric_", "claims")
    with finished.restored("workflow/artifacts.yaml") as path:
        content = yaml.safe_load(path.read_text())
        entries = content["artifacts"].items()
        content["artifacts"] = {name: entry for name, entry in entries if not name.startswith(left_out)}
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        left = drawn(finished.planned("sbibm", "--forceall", *CONFIG))
    assert left < everything
    assert everything - left == {folder for folder in everything if folder.startswith("two_moons/")}


def test_every_reference_has_a_certificate(finished):
    frame = pd.read_csv(finished.root / "results/smoke/tables/reference_certificates.csv")
    assert len(frame) == len(TASKS) * 2 * 2
    assert not frame.passed.isna().any()
    assert set(frame.task) == set(TASKS)


@pytest.mark.parametrize(("task", "trained"), [("sir", 4), ("two_moons", 2)])
def test_chosen_network_is_as_good_as_any_by_validation_loss(finished, task, trained):
    choice = json.loads((finished.root / f"results/smoke/sbibm/{task}/n_train~400/choice.json").read_text())
    assert choice["rule"] == "stated"
    assert len(choice["candidates"]) == trained
    keys = ("learning_rate", "batch_size")
    candidates = choice["candidates"]
    (chosen,) = [candidate for candidate in candidates if all(candidate[key] == choice[key] for key in keys)]
    assert chosen["difference"] <= chosen["standard_error"]
    assert max(candidate["difference"] for candidate in candidates) > 0


def test_the_chosen_network_is_marked_among_the_losses(finished):
    losses = pd.read_csv(finished.root / "results/smoke/sbibm/losses.csv")
    choice = json.loads((finished.root / "results/smoke/sbibm/sir/n_train~400/choice.json").read_text())
    chosen = losses[losses.chosen][["batch_size", "learning_rate"]].drop_duplicates()
    assert chosen.values.tolist() == [[choice["batch_size"], choice["learning_rate"]]]
    assert losses.groupby(["task", "n_train", "batch_size", "learning_rate"]).epoch.max().eq(30).all()


def test_samples_are_finite_where_clipped_and_in_the_parameters_space(finished):
    path = finished.root / "results/smoke/sbibm/sir/n_train~400/samples/GAUSS-clip/batch~1-of-1.nc"
    theta = xr.load_dataset(path).theta
    assert (theta > 0).all()


def test_change_in_a_task_reruns_that_task_only(finished):
    task = "src/tallsbi/study/tasks/sir.py"
    with finished.restored(task):
        finished.add_code(task)
        jobs = finished.planned("sbibm", *CONFIG)
    for rule in ("simulate", "observe", "reference", "train", "sample"):
        assert all("/sir/" in output for output in jobs[rule])


def test_extensions_have_a_row_for_each_of_their_cells(finished):
    folder = finished.root / "results/smoke/sbibm"
    guidance = pd.read_csv(folder / "guidance.csv")
    assert len(guidance) == 2 * 2  # one task and N_train, two n, two sets
    partial = pd.read_csv(folder / "partial.csv")
    assert set(zip(partial.n_max, partial.encoder, strict=True)) == {
        (1, "none"),
        (2, "mean"),
        (2, "deep_set"),
    }
    assert set(partial.method) == {"GAUSS", "LANGEVIN"}
    assert set(partial.n) == {3}

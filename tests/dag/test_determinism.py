"""One core or two, in another order: the same bytes, but for measured times.

Pieces of all three parts, from simulations to a table and figures, made twice.
"""

from __future__ import annotations

import shutil

import pytest

from study import REPOSITORY, Study, clone, digests, setting
from tallsbi.runner.manifest import is_timed
from tallsbi.study.project import project

pytestmark = pytest.mark.dag

SIZES = """
tasks: [gaussian_linear]
extra_tasks: []
beyond_tasks: []
sets: 2
n_obs: [1, 2]
n_train: [200]
simulations: 200
observations: 4
epochs: 30
samples: 40
max_steps: 10
training: {learning_rates: [0.0001], batch_sizes: [256]}
"""
TOY = """
seeds: 2
samples: 30
dims: [2, 10]
noise: [0, 0.01]
n_obs: [2, 32]
timing: {dims: [2, 10], n_obs: [32], steps: [2], samples: 10, repeats: 1}
"""
JRNMM = "{simulations: 50, epochs: 2, training: {learning_rates: [0.0001]}}"
METHODS = """
GAUSS: {steps: 10, cov_samples: 20, cov_steps: 5}
JAC: {steps: 10}
LANGEVIN: {parts: [beyond]}
DET_GEF: {parts: [beyond]}
TAMED: {parts: [beyond]}
"""
RUN = "results/smoke"
TARGETS = [
    f"{RUN}/toy/gaussian-wide/m~2/noise~0.01/distances.csv",
    f"{RUN}/toy/timing/gaussian-wide/m~2.csv",
    f"{RUN}/jrnmm/3d/n_train~50/network.safetensors",
    f"{RUN}/figures/sbibm_losses_bs256.png",
    f"{RUN}/figures/sbibm_sw_vs_nobs.pdf",
    f"{RUN}/tables/sbibm_gaussian_linear.csv",
]
CONFIG = (
    "--config",
    setting("sbibm", SIZES),
    setting("toy", TOY),
    f"jrnmm={JRNMM}",
    setting("methods", METHODS),
    "run=smoke",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Study, Study]:
    one, two = (clone(tmp_path_factory.mktemp(name) / "study") for name in ("one", "two"))
    for study, arguments in ((one, ["--cores", "1"]), (two, ["--cores", "2", "--prioritize", TARGETS[0]])):
        done = study.snakemake(*TARGETS, *arguments, *CONFIG)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return one, two


def has_times(path: str) -> bool:
    return is_timed(path.removeprefix("smoke/"), project(REPOSITORY).timed)


def test_results_are_the_same_bytes_but_for_times(runs):
    first, second = (
        {path: digest for path, digest in digests(study).items() if not has_times(path)} for study in runs
    )
    assert first == second
    assert {path.rpartition(".")[2] for path in first} >= {
        "nc",
        "csv",
        "safetensors",
        "md",
        "tex",
        "pdf",
        "png",
        "svg",
    }


def test_files_said_to_hold_times_do(runs):
    first, second = map(digests, runs)
    timed = [path for path in first if has_times(path)]
    assert TARGETS[1].removeprefix("results/") in timed
    assert all(first[path] != second[path] for path in timed)


def test_one_run_passes_the_verification_against_the_other(runs, tmp_path):
    one, two = (clone(tmp_path / name, results_of=study) for name, study in zip("ab", runs, strict=True))
    written = one.make("verify")
    assert written.returncode == 0, written.stderr
    shutil.copyfile(one.root / RUN / "manifest.json", two.root / RUN / "manifest.json")
    checked = two.make("verify")
    assert checked.returncode == 0, checked.stdout
    assert "0 missing, 0 changed, 0 extra" in checked.stdout
    (two.root / TARGETS[0]).write_text("method\n")
    changed = two.make("verify")
    assert changed.returncode != 0
    assert f"changed  {TARGETS[0]}" in changed.stdout

"""What is given to `make` stays a value: no shell runs it, and a bad one is explained."""

from __future__ import annotations

import pytest
import torch

from study import Study, clone

pytestmark = pytest.mark.dag


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return clone(tmp_path_factory.mktemp("make") / "study")


@pytest.mark.parametrize(
    ("target", "variables", "fragments"),
    [
        (
            "results",
            {"SCALE": "smoke; touch x"},
            ["smoke; touch x", "no such scale", "available:"],
        ),
        ("results", {"PROTOCOL": '"; touch x; "'}, ["no such protocol"]),
        ("results", {"CONFIG": "seed=1; touch x"}, ["'touch' is not of the form key=value"]),
        ("results", {"CONFIG": "'run=`touch x`'"}, ["run = '`touch x`'", "must be a name of 1 to 64"]),
        ("results", {"ARGS": "--dry-run & touch x"}, []),
        ("results", {"CONFIG": "'run=a"}, ["CONFIG", "No closing quotation"]),
        ("results", {"ARGS": "--config seed=1"}, ["Settings go in CONFIG"]),
        ("verify", {"SCALE": "$$(touch x)"}, ["no results yet"]),
        ("bench", {"ARGS": "--help; touch x"}, []),
    ],
)
def test_value_is_not_run(study, target, variables, fragments):
    done = study.make(target, **variables)
    text = done.stdout + done.stderr
    assert done.returncode != 0 or target == "bench"
    assert "Traceback" not in text
    for fragment in fragments:
        assert fragment in text
    assert not (study.root / "x").exists()
    assert not list(study.root.glob("results/*/*.nc"))


def test_settings_with_spaces_reach_snakemake_whole(study):
    config = "seed=7 'toy={noise: [0], table: {dim: 10}}' toy.table.n_obs=32 toy.table.noise=0"
    done = study.make(CONFIG=config, ARGS="--dry-run toy", VERBOSE="1")
    assert done.returncode == 0, done.stderr
    assert "results/smoke-seed~7-toy.noise~0-toy.table.noise~0/toy" in done.stdout + done.stderr
    assert "noise~0/" in done.stdout + done.stderr
    assert "noise~0.01" not in done.stdout + done.stderr


def test_a_dry_run_lists_rules_and_not_every_job(study):
    done = study.make(ARGS="--dry-run toy")
    assert done.returncode == 0, done.stderr
    assert "sample_toy" in done.stderr
    assert len(done.stderr.splitlines()) < 100


@pytest.mark.parametrize(
    ("variables", "hint"),
    [
        ({"scale": "laptop"}, "Did you mean: make results SCALE=laptop"),
        ({"seed": "7"}, "Did you mean: make results CONFIG='seed=7'"),
    ],
)
def test_a_variable_that_make_does_not_have_is_refused(study, variables, hint):
    done = study.make(**variables)
    assert done.returncode != 0
    assert hint in done.stderr


def test_a_gpu_that_is_not_there_is_said_before_any_job(study):
    if torch.cuda.is_available():
        pytest.skip("there is one")
    done = study.make(CONFIG="device=cuda", ARGS="results/smoke-device~cuda/toy/pedagogical.csv")
    assert done.returncode != 0
    assert "device = 'cuda', but torch sees no GPU" in done.stderr
    assert not list(study.root.glob("results/*/logs/**/*.log"))


@pytest.mark.parametrize(("text", "line"), [("", 1), ("scale: smoke\n\tseed: 1\n", 2), ("a: 1\na: 2\n", 2)])
def test_a_damaged_configuration_is_one_message_of_plain_snakemake_too(study, text, line):
    with study.restored("config.yaml") as file:
        file.write_text(text)
        done = study.snakemake("--dry-run", "--cores", "1")
    assert done.returncode != 0
    assert f"config.yaml, line {line}: " in done.stderr
    assert "Traceback" not in done.stderr

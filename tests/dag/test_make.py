"""What is given to `make` stays a value: no shell runs it, and a bad one is explained."""

from __future__ import annotations

import pytest

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
    config = "seed=7 'toy={noise: [0], table: {dim: 10, n_obs: 32, noise: 0}}'"
    done = study.make(CONFIG=config, ARGS="--dry-run toy")
    assert done.returncode == 0, done.stderr
    assert "noise~0/" in done.stdout + done.stderr
    assert "noise~0.01" not in done.stdout + done.stderr

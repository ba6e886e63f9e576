"""The manifest names what is missing, changed or extra; times are not compared."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tallsbi.runner import manifest
from tallsbi.runner.command import Project, main
from tallsbi.storage import files

PROJECT = Project(stages={}, timed=("toy/timing/*/*", "tables/toy_speedup.*"))
FILES = {
    "sbibm/sir/n_train~400/distances.csv": "a\n1\n",
    "sbibm/sir/n_train~400/distances.csv.meta.json": '{"code_fingerprint": "c0de"}',
    "toy/timing/mixture/m~10.csv": "seconds\n0.1\n",
    "tables/toy_speedup.md": "| 0.2 |",
    "figures/pf_npse.png": "png",
    "logs/toy/a.log": "now",
    "records/a.tsv": "s",
    "sbibm/sir/checkpoints/n_train~400/checkpoint.safetensors": "x",
    "toy/.a.12-0123abcd.nc": "half",
}
RESULTS = sorted(
    path for path in FILES if not path.startswith(("logs", "records", "toy/.")) and "checkp" not in path
)


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "config.yaml").write_text("scale: smoke\nprotocol: published\n")
    for path, content in FILES.items():
        files.write_text(content, tmp_path / "results/smoke" / path)
    return tmp_path


def test_describes_results_and_nothing_else(root):
    files.write_dataset(
        xr.Dataset({"x": ("i", np.zeros(3))}, attrs={"code_fingerprint": "abc"}),
        root / "results/smoke/toy/a.nc",
    )
    entries = manifest.describe(root / "results/smoke", PROJECT.timed)
    assert list(entries) == sorted([*RESULTS, "toy/a.nc"])
    assert entries["toy/a.nc"]["code"] == "abc"
    table = entries["sbibm/sir/n_train~400/distances.csv"]
    assert table == {"sha256": hashlib.sha256(b"a\n1\n").hexdigest(), "code": "c0de", "timed": False}
    assert [path for path in entries if entries[path]["timed"]] == [
        "tables/toy_speedup.md",
        "toy/timing/mixture/m~10.csv",
    ]


def test_first_verification_writes_and_the_second_agrees(root, capsys):
    assert main(PROJECT, ["verify"], root) == 0
    assert "2 of them with times" in capsys.readouterr().out
    before = (root / "results/smoke/manifest.json").read_bytes()
    (root / "results/smoke/tables/toy_speedup.md").write_text("| 0.3 |")
    (root / "results/smoke/logs/toy/a.log").write_text("later")
    assert main(PROJECT, ["verify"], root) == 0
    assert "0 missing, 0 changed, 0 extra" in capsys.readouterr().out
    assert (root / "results/smoke/manifest.json").read_bytes() == before


def test_missing_changed_and_extra_files_are_named(root, capsys):
    run = root / "results/smoke"
    main(PROJECT, ["verify"], root)
    (run / "figures/pf_npse.png").unlink()
    (run / "toy/timing/mixture/m~10.csv").unlink()
    (run / "sbibm/sir/n_train~400/distances.csv").write_text("a\n2\n")
    (run / "toy/new.csv").write_text("a\n")
    capsys.readouterr()
    assert main(PROJECT, ["verify"], root) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[:4] == [
        "missing  results/smoke/figures/pf_npse.png",
        "missing  results/smoke/toy/timing/mixture/m~10.csv",
        "changed  results/smoke/sbibm/sir/n_train~400/distances.csv",
        "extra    results/smoke/toy/new.csv",
    ]
    assert "2 missing, 1 changed, 1 extra" in printed[4]


def test_run_without_results_is_said(root, capsys):
    assert main(PROJECT, ["verify", "--scale", "laptop"], root) == 1
    assert "results/laptop" in capsys.readouterr().err


def test_damaged_manifest_is_named(root, capsys):
    (root / "results/smoke/manifest.json").write_text("{")
    assert main(PROJECT, ["verify"], root) == 1
    assert "manifest.json is damaged" in capsys.readouterr().err


def test_other_runs_have_their_own(root):
    files.write_text("x", root / "results/trial/toy/a.csv")
    assert main(PROJECT, ["verify", "--config", "seed=3 run=trial"], root) == 0
    assert list(files.read_json(root / "results/trial/manifest.json")["files"]) == ["toy/a.csv"]

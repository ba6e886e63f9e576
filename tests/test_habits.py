"""The repository's habits: hooks, workflow and linter call what is there, and the documents name what exists."""

from __future__ import annotations

import os
import re
import runpy
import subprocess

import pytest
import yaml
from paths import ROOT

LINT = runpy.run_path(str(ROOT / "workflow/lint.py"))


def test_hooks_use_programs_of_the_environment():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    programs = {hook["entry"].split()[0] for hook in local["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/snakefmt", ".venv/bin/mypy"}
    makefile = (ROOT / "Makefile").read_text()
    assert [name for name in programs if name.replace(".venv/bin", "$(BIN)") not in makefile] == []


def test_the_github_workflow_runs_the_one_entry_and_makes_the_page():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert steps == [".ci/run", "make results"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_paths_that_are_named_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|docs|tests|workflow|envs|\.ci|\.github)/[\w./-]+)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    targets = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert targets <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def test_scripts_need_no_marks_for_the_linter():
    """One rule for the folder in pyproject.toml instead of marks on every line."""
    marked = [path.name for path in ROOT.glob("workflow/scripts/*.py") if "noqa" in path.read_text()]
    assert marked == []


def test_files_that_programs_leave_behind_are_ignored():
    left = [".coverage", ".mypy_cache/x", "sbi-logs/x", ".ruff_cache/x", "results/smoke/x"]
    done = subprocess.run(
        ["git", "check-ignore", *left], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 128:
        pytest.skip("no git repository")
    assert done.stdout.split() == left


def test_advice_of_snakemake_is_read_and_only_the_justified_is_left_out():
    text = (
        "Lints for snakefile Snakefile:\n    * Tab usage in line 3.:\n      Use spaces.\n\n"
        "Lints for rule a (line 3, Snakefile):\n"
        "    * Specify a conda environment or container for each rule.:\n      This way ...\n"
    )
    pieces = LINT["advice"](text)
    assert len(pieces) == 2
    assert LINT["to_follow"](pieces) == ["snakefile Snakefile: Tab usage in line 3."]
    assert LINT["advice"]("Congratulations, your workflow is in a good condition!") == []
    with pytest.raises(ValueError, match="neither advice nor congratulations"):
        LINT["advice"]("Traceback ...")

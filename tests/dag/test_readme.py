"""Every command of the README is run, on as little work as it allows.

A command that is new there, and not here, fails the first test.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from made_up import make_up_run, missing_inputs

from study import REPOSITORY, Study, clone

pytestmark = pytest.mark.dag

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
ONE_JOB = "results/smoke/toy/pedagogical.csv"
# What a command is given besides, so that it ends in seconds; None: see the test of that command.
SHORTENED: dict[str, dict[str, str] | None] = {
    "make": {},
    "make results": {"ARGS": ONE_JOB},
    "make results ARGS=toy": {"ARGS": "toy --dry-run"},
    "make results SCALE=laptop": {"ARGS": "--dry-run"},
    "make results SCALE=decisive": {"ARGS": "--dry-run"},
    "make results SCALE=paper": {"ARGS": "--dry-run"},
    "make results PROTOCOL=stated": {"ARGS": "--dry-run"},
    "make results CONFIG='seed=7'": {"ARGS": "--dry-run"},
    "make plan SCALE=paper": {},
    "make verify": {},
    "make report": {"ARGS": "--allowed-rules make_report"},
    "make gallery": {"SCALE": "smoke"},
    "make redraw SCALE=laptop CONFIG=run=published": None,  # test_redraw.py
    "make snakemake-report": None,
    "make bench": {"ARGS": "tall_score --rounds 1"},
    "make bench-peers": {"ARGS": "exact --samples 20 --budget 120 --observations 2"},
    "make bayesflow": None,  # 1.1 GB
    "make env": {},
    "make test": None,
    "make docs": None,
    "make slurm-test": None,
    "pip install tallsbi": None,  # tests/test_wheel.py
    "pip install 'tallsbi[diagnose,arviz,plot]'": None,
    "$EDITOR workflow/profiles/slurm/config.yaml": None,
    "source .venv/bin/activate": None,
    "snakemake --profile workflow/profiles/slurm --config scale=paper": None,
}


def commands(text: str) -> set[str]:
    """Lines of indented blocks without their comments, and what is between backquotes and starts with `make`."""
    lines = [
        line.split("  #")[0].strip() for line in re.findall(r"^    (\S.*)$", _without_python(text), re.M)
    ]
    return {*lines, *re.findall(r"`(make[^`]*)`", text)}


def _without_python(text: str) -> str:
    return re.sub(r"^```python\n.*?^```", "", text, flags=re.M | re.S)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    """A copy with a run that has every table and figure, none of them computed."""
    study = clone(tmp_path_factory.mktemp("readme") / "study")
    (study.root / "docs").mkdir()
    page = ("make_report", "--allowed-rules", "make_report")
    make_up_run(study.root, missing_inputs(study, *page))
    return study


def test_all_commands_are_known():
    assert commands(README) - {"make"} == SHORTENED.keys() - {"make"}


@pytest.mark.parametrize("command", [command for command, more in SHORTENED.items() if more is not None])
def test_command_runs(study, command):
    _, *words = shlex.split(command)
    targets = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    done = study.make(*(targets or ["help"]), **{**given, **SHORTENED[command]})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stdout + done.stderr
    if command == "make results":
        assert (study.root / ONE_JOB).exists()
    if command == "make gallery":
        assert (study.root / "docs/gallery/README.md").exists()


def test_snakemake_reports_on_what_has_run(study):
    assert study.make(ARGS=ONE_JOB).returncode == 0
    done = study.make("snakemake-report", ARGS=ONE_JOB)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (study.root / "results/smoke/snakemake-report.zip").exists()


def test_cluster_commands(study):
    """As the README has them, but for the editor, and with jobs that are only listed."""
    text = re.search(r"^## 2\. On a cluster\n\n((?:    .*\n)+)", README, re.M)[1]
    lines = [line.split("  #")[0].strip() for line in text.splitlines()]
    assert lines[0] == "make env"
    script = "\n".join([*lines[1:-1], f"{lines[-1]} --dry-run"])
    environment = study.environment() | {"EDITOR": "test -w", "PATH": f"{study.root}:/usr/bin:/bin"}
    activate = study.root / ".venv/bin/activate"
    activate.parent.mkdir(parents=True)
    activate.write_text(f'PATH="{Path(sys.executable).parent}:$PATH"\n')
    done = subprocess.run(
        ["bash", "-ec", script], cwd=study.root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "rule sample:" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "called"),
    [("test", "pytest -n auto"), ("docs", "sphinx-build"), ("slurm-test", "pytest -m slurm tests/slurm")],
)
def test_commands_that_check_call_their_programs(study, target, called):
    """They cannot run inside themselves; .ci/run runs all three."""
    command = study.make_command(target)
    done = subprocess.run(
        [*command, "--dry-run"], cwd=study.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert called in done.stdout
    assert f"make {target}" in (REPOSITORY / ".ci/run").read_text()

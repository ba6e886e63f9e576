"""What reruns after a change, for the whole study: every row of the table in docs/incremental.md is a dry run.

The finished study they start from is made without computing anything: Snakemake's `--touch` records settings, code
and versions of every job for outputs that are empty files. After a change of the rules, `python
tests/dag/test_incremental.py` writes the table anew.
"""

from __future__ import annotations

import difflib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from study import REPOSITORY, Study, clone

pytestmark = pytest.mark.dag

PAGE = REPOSITORY / "docs/incremental.md"
HEAD = "| you change | what reruns |\n|---|---|\n"
SCALE = "workflow/scales/smoke.yaml"
Jobs = dict[str, list[str]]
# A rule per figure and per table would fill pages.
KINDS = {"draw_": "figures", "make_": "tables"}


@dataclass(frozen=True)
class Change:
    """A row: what is changed, how (a function of the copy), and what it must not touch."""

    label: str
    apply: Callable[[Study], None]
    only: str = ""  # every rerun job of the rules in `rules` has this in the path of one of its outputs
    rules: tuple[str, ...] = ()
    never: tuple[str, ...] = ()  # beginnings of rules that do not rerun


def code(path: str) -> Callable[[Study], None]:
    def apply(study: Study) -> None:
        file = study.root / path
        file.write_text(file.read_text(encoding="utf-8") + "\nLAST_CHANGE = 1\n", encoding="utf-8")

    return apply


def edit(path: str, *keys: str, to: Callable) -> Callable[[Study], None]:
    """Replaces a value of a YAML file."""

    def apply(study: Study) -> None:
        file = study.root / path
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        at = data
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = to(at[keys[-1]])
        file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    return apply


def remarks(study: Study) -> None:
    for path in study.python_files():
        path.write_text("# a remark\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--quiet", "--line-length", "60", "src", "workflow/scripts"],
        cwd=study.root,
        check=True,
    )


def another_torch(study: Study) -> None:
    """The jobs' package folder comes first on the path: what lies there is what is installed."""
    folder = study.root / "src/torch-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n")


# What is made from everything else, and so again after any change.
AFTER_ALL = {"collect_costs", "make_cost", "make_claims", "make_report"}
TOY, NEURO, BENCHMARK = "toy/", "jrnmm/", "sbibm/"
SOURCE = "src/tallsbi"
CHANGES = [
    Change("a comment, a docstring, the formatting", remarks, never=("",)),
    Change(
        "`compose/jac.py`",
        code(f"{SOURCE}/compose/jac.py"),
        only="/JAC",
        rules=("sample_toy", "sample_toy_steps", "sample_task", "sample_jrnmm", "sample_calibration"),
        never=("simulate", "train", "reference", "observe", "sample_guidance", "sample_sets"),
    ),
    Change(
        "`compose/gauss.py`",
        code(f"{SOURCE}/compose/gauss.py"),
        only="/GAUSS",
        rules=("sample_toy", "sample_toy_steps", "sample_task", "sample_jrnmm", "sample_calibration"),
        never=("simulate", "train", "reference", "observe"),
    ),
    Change(
        "`samplers/ddim.py`",
        code(f"{SOURCE}/samplers/ddim.py"),
        never=("simulate", "train", "reference", "observe"),
    ),
    Change(
        "`scores/network.py`",
        code(f"{SOURCE}/scores/network.py"),
        never=("simulate", "reference", "observe", "reference_toy"),
    ),
    Change(
        "`training/loop.py`",
        code(f"{SOURCE}/training/loop.py"),
        never=("simulate", "reference", "observe", "sample_toy", "time_toy"),
    ),
    *(
        Change(
            f"`tasks/{task}.py`",
            code(f"{SOURCE}/tasks/{task}.py"),
            only=f"/{task}/",
            rules=(
                "simulate_task",
                "observe_task",
                "reference_task",
                "train_network",
                "sample_task",
                "train_sets",
            ),
            never=("simulate_jrnmm", "sample_toy", "train_jrnmm"),
        )
        for task in ("sir", "slcp")
    ),
    Change(
        "`jrnmm/kernel.py`",
        code(f"{SOURCE}/jrnmm/kernel.py"),
        never=("sample_toy", "simulate_task", "train_network", "make_", "draw_sbibm", "draw_toy"),
    ),
    Change(
        "`references/nuts.py`",
        code(f"{SOURCE}/references/nuts.py"),
        never=("simulate", "train", "observe_task", "sample_task", "sample_toy", "sample_jrnmm"),
    ),
    Change(
        "`metrics/c2st_kernel.py`",
        code(f"{SOURCE}/metrics/c2st_kernel.py"),
        never=("simulate", "train", "observe", "sample", "reference"),
    ),
    Change(
        "`metrics/mmd.py`",
        code(f"{SOURCE}/metrics/mmd.py"),
        never=("simulate", "train", "observe", "sample", "reference"),
    ),
    Change(
        "`figures/partial.py`",
        code(f"{SOURCE}/figures/partial.py"),
        only="figures/pf_npse.",
        rules=("draw_pf_npse",),
        never=("make", "sample", "train", "collect", "measure", "simulate", "observe", "reference"),
    ),
    Change(
        "`tables/metric_summary.py`",
        code(f"{SOURCE}/tables/metric_summary.py"),
        only="tables/metric_summary.",
        rules=("make_metric_summary",),
        never=("sample", "train", "collect", "measure", "simulate", "observe", "reference"),
    ),
    Change("`seed`", edit("config.yaml", "seed", to=lambda value: value + 1)),
    Change(
        "one more n in `sbibm.n_obs`",
        edit(SCALE, "sbibm", "n_obs", to=lambda values: [*values, 2]),
        never=("simulate", "train", "observe", "sample_toy", "sample_jrnmm"),
    ),
    Change(
        "one more size in `sbibm.n_train`, with the simulations there are",
        edit(SCALE, "sbibm", "n_train", to=lambda values: [200, *values]),
        only="n_train~200/",
        rules=(
            "train_network",
            "train_guidance",
            "train_sets",
            "sample_task",
            "sample_guidance",
            "measure_task",
        ),
        never=("simulate", "observe", "reference", "sample_toy", "train_jrnmm"),
    ),
    Change(
        "`sbibm.epochs`",
        edit(SCALE, "sbibm", "epochs", to=lambda value: value + 1),
        never=("simulate", "observe", "reference", "sample_toy", "train_jrnmm"),
    ),
    Change(
        "`jrnmm.epochs`",
        edit(SCALE, "jrnmm", "epochs", to=lambda value: value + 1),
        never=("simulate", "observe", "reference", "sample_toy", "train_network", "make"),
    ),
    Change(
        "one more noise level in `toy.noise`",
        edit(SCALE, "toy", "noise", to=lambda values: [*values, 0.5]),
        only="/noise~0.5/",
        rules=("sample_toy", "measure_toy"),
        never=("reference", "train", "simulate", "make"),
    ),
    Change(
        "`methods.TAMED.ratio`",
        edit("config.yaml", "methods", "TAMED", "ratio", to=lambda value: value + 0.1),
        only="/TAMED",
        rules=("sample_task",),
        never=("simulate", "train", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`sbibm.guidance.drop`",
        edit("config.yaml", "sbibm", "guidance", "drop", to=lambda value: value + 0.1),
        never=("simulate", "observe", "reference", "train_network", "train_sets", "train_jrnmm", "make"),
    ),
    Change("another version of torch", another_torch),
]
BY_LABEL = {change.label: change for change in CHANGES}


def finished_study(folder: Path) -> tuple[Study, Jobs]:
    """A study in which every job counts as done, and the outputs of all its jobs by rule."""
    study = clone(folder)
    everything = study.planned()
    for output in (study.root / path for paths in everything.values() for path in paths):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.touch()
    done = study.snakemake("--touch", "--forceall", "--cores", "2")
    assert done.returncode == 0, done.stderr[-3000:]
    return study, everything


def reruns(study: Study, change: Change) -> Jobs:
    """What would run after the change, which is then taken back."""
    kept = {path: path.read_bytes() for path in study.root.rglob("*") if path.suffix in (".py", ".yaml")}
    change.apply(study)
    try:
        return study.planned()
    finally:
        for path, content in kept.items():
            if path.read_bytes() != content:
                path.write_bytes(content)
        for path in study.root.glob("src/*.dist-info/METADATA"):
            path.unlink()
            path.parent.rmdir()


def by_kind(jobs: Jobs) -> dict[str, set[str]]:
    """The outputs by rule; those of figures and of tables together, each once."""
    found: dict[str, set[str]] = {}
    for rule, outputs in jobs.items():
        kind = next((KINDS[start] for start in KINDS if rule.startswith(start)), f"`{rule}`")
        stems = {Path(output).stem for output in outputs} if kind in KINDS.values() else set(outputs)
        found.setdefault(kind, set()).update(stems)
    return found


def share(now: set[str], before: set[str]) -> str:
    """How much of a kind runs: nothing if it is all of it."""
    if now == before:
        return ""
    new, again = len(now - before), len(now & before)
    parts = [f"{new} new"] * (new > 0) + [f"{again} of {len(before)}"] * (again > 0)
    return f" ({', '.join(parts)})"


def summary(jobs: Jobs, everything: Jobs) -> str:
    now, before = by_kind(jobs), by_kind(everything)
    order = sorted(now, key=lambda kind: (kind in KINDS.values(), kind))
    return ", ".join(kind + share(now[kind], before.get(kind, set())) for kind in order) or "nothing"


def table(found: dict[str, Jobs], everything: Jobs) -> str:
    return HEAD + "".join(f"| {label} | {summary(jobs, everything)} |\n" for label, jobs in found.items())


@pytest.fixture(scope="module")
def everything_and_found(tmp_path_factory) -> tuple[Jobs, dict[str, Jobs]]:
    study, everything = finished_study(tmp_path_factory.mktemp("incremental") / "study")
    return everything, {change.label: reruns(study, change) for change in CHANGES}


@pytest.mark.parametrize("label", BY_LABEL)
def test_nothing_reruns_that_does_not_depend_on_the_change(everything_and_found, label):
    change, jobs = BY_LABEL[label], everything_and_found[1][label]
    for beginning in change.never:
        unwanted = {rule for rule in jobs if rule.startswith(beginning)}
        assert not (unwanted - AFTER_ALL if beginning else unwanted), beginning
    for rule in change.rules:
        assert jobs.get(rule), f"{rule} should rerun"
        assert all(change.only in output for output in jobs[rule]), rule


def test_another_seed_reruns_all_that_is_drawn(everything_and_found):
    everything, found = everything_and_found
    drawn = [
        rule
        for rule in everything
        if rule.startswith(("simulate", "observe", "train", "sample", "reference"))
    ]
    assert {rule: found["`seed`"].get(rule) and len(found["`seed`"][rule]) for rule in drawn} == {
        rule: len(everything[rule]) for rule in drawn
    }


def test_page_is_up_to_date(everything_and_found):
    everything, found = everything_and_found
    page = PAGE.read_text(encoding="utf-8")
    old, new = page[page.index(HEAD) :], table(found, everything)
    difference = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "page", "study"))
    assert not difference, f"run `python tests/dag/test_incremental.py`:\n{difference}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        study, everything = finished_study(Path(folder) / "study")
        rows = table({change.label: reruns(study, change) for change in CHANGES}, everything)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(HEAD)] + rows, encoding="utf-8")

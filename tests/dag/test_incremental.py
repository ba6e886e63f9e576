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
    spared: tuple[str, ...] = ()  # rules that do not rerun, by their whole name


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
SOURCE = "src/tallsbi"
SAMPLING = ("sample_toy", "sample")
BEFORE_SAMPLING = ("simulate", "train", "select", "reference", "observe")
CHANGES = [
    Change("a comment, a docstring, the formatting", remarks, never=("",)),
    Change("`compose/base.py`", code(f"{SOURCE}/compose/base.py"), never=BEFORE_SAMPLING),
    Change(
        "`compose/jac.py`",
        code(f"{SOURCE}/compose/jac.py"),
        only="/JAC",
        rules=(*SAMPLING, "sample_clipped"),
        never=(*BEFORE_SAMPLING, "sample_plain", "sample_partial"),
    ),
    Change(
        "`compose/gauss.py`",
        code(f"{SOURCE}/compose/gauss.py"),
        only="/GAUSS",
        rules=(*SAMPLING, "sample_plain"),
        never=BEFORE_SAMPLING,
    ),
    Change("`samplers/ddim.py`", code(f"{SOURCE}/samplers/ddim.py"), never=BEFORE_SAMPLING),
    Change(
        "`scores/network.py`",
        code(f"{SOURCE}/scores/network.py"),
        never=(
            "simulate",
            "reference",
            "observe",
            "sample_toy",
            "measure_toy",
            "time_toy",
            "collect_certificates",
        ),
    ),
    Change(
        "`training/loop.py`",
        code(f"{SOURCE}/training/loop.py"),
        never=("simulate", "reference", "observe", "sample_toy", "time_toy"),
    ),
    *(
        Change(
            f"`study/tasks/{task}.py`",
            code(f"{SOURCE}/study/tasks/{task}.py"),
            only=f"/{task}/",
            rules=("simulate", "observe", "reference", "train", "sample", "train_partial"),
            never=("sample_toy",),
        )
        for task in ("sir", "slcp")
    ),
    Change(
        "`study/tasks/jrnmm/kernel.py`",
        code(f"{SOURCE}/study/tasks/jrnmm/kernel.py"),
        only="/jrnmm/",
        rules=("simulate", "observe", "train", "select", "sample"),
        never=("sample_toy", "reference", "train_", "make_", "draw_sbibm", "draw_toy"),
    ),
    Change(
        "`study/references/nuts.py`",
        code(f"{SOURCE}/study/references/nuts.py"),
        never=("simulate", "train", "sample"),
        spared=("observe",),
    ),
    Change(
        "`metrics/c2st_kernel.py`",
        code(f"{SOURCE}/metrics/c2st_kernel.py"),
        never=("simulate", "train", "observe", "sample", "reference", "measure_toy"),
    ),
    Change(
        "`metrics/mmd.py`",
        code(f"{SOURCE}/metrics/mmd.py"),
        never=("simulate", "train", "observe", "sample", "reference", "measure_toy"),
    ),
    Change(
        "`study/figures/partial.py`",
        code(f"{SOURCE}/study/figures/partial.py"),
        only="figures/pf_npse.",
        rules=("draw_pf_npse",),
        never=("make", "sample", "train", "collect", "measure", "simulate", "observe", "reference"),
    ),
    Change(
        "`study/tables/metric_summary.py`",
        code(f"{SOURCE}/study/tables/metric_summary.py"),
        only="tables/metric_summary.",
        rules=("make_metric_summary",),
        never=("sample", "train", "collect", "measure", "simulate", "observe", "reference"),
    ),
    Change("`seed`", edit("config.yaml", "seed", to=lambda value: value + 1)),
    Change(
        "one more n in `sbibm.n_obs`",
        edit(SCALE, "sbibm", "n_obs", to=lambda values: [*values, 2]),
        only="/sbibm/",
        rules=("sample",),
        never=("simulate", "train", "observe", "sample_toy"),
    ),
    Change(
        "one more size in `sbibm.n_train`, with the simulations there are",
        edit(SCALE, "sbibm", "n_train", to=lambda values: [200, *values]),
        only="n_train~200/",
        rules=(
            "train",
            "train_guidance",
            "train_partial",
            "sample",
            "sample_plain",
            "sample_clipped",
            "measure",
        ),
        never=("simulate", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`sbibm.epochs`",
        edit(SCALE, "sbibm", "epochs", to=lambda value: value + 1),
        only="/sbibm/",
        rules=("train", "sample"),
        never=("simulate", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`jrnmm.epochs`",
        edit(SCALE, "jrnmm", "epochs", to=lambda value: value + 1),
        only="/jrnmm/",
        rules=("train", "sample"),
        never=("simulate", "observe", "reference", "sample_toy", "train_", "make"),
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
        rules=("sample",),
        never=("simulate", "train", "observe", "reference", "sample_toy"),
    ),
    Change(
        "`sbibm.guidance.drop`",
        edit("config.yaml", "sbibm", "guidance", "drop", to=lambda value: value + 0.1),
        only="/guidance/",
        rules=("train_guidance", "sample_plain", "measure"),
        never=("simulate", "observe", "reference", "train_partial", "make"),
        spared=("train", "select", "sample"),
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
    kinds: dict[str, set[str]] = {}
    for rule, outputs in jobs.items():
        kind = next((KINDS[start] for start in KINDS if rule.startswith(start)), f"`{rule}`")
        stems = {Path(output).stem for output in outputs} if kind in KINDS.values() else set(outputs)
        kinds.setdefault(kind, set()).update(stems)
    return kinds


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


def table(rerun: dict[str, Jobs], everything: Jobs) -> str:
    return HEAD + "".join(f"| {label} | {summary(jobs, everything)} |\n" for label, jobs in rerun.items())


@pytest.fixture(scope="module")
def everything_and_reruns(tmp_path_factory) -> tuple[Jobs, dict[str, Jobs]]:
    study, everything = finished_study(tmp_path_factory.mktemp("incremental") / "study")
    return everything, {change.label: reruns(study, change) for change in CHANGES}


@pytest.mark.parametrize("label", BY_LABEL)
def test_nothing_reruns_that_does_not_depend_on_the_change(everything_and_reruns, label):
    change, jobs = BY_LABEL[label], everything_and_reruns[1][label]
    for beginning in change.never:
        unwanted = {rule for rule in jobs if rule.startswith(beginning)}
        assert not (unwanted - AFTER_ALL if beginning else unwanted), beginning
    assert not jobs.keys() & set(change.spared)
    for rule in change.rules:
        assert jobs.get(rule), f"{rule} should rerun"
        assert all(change.only in output for output in jobs[rule]), rule


def test_another_seed_reruns_all_that_is_drawn(everything_and_reruns):
    everything, rerun = everything_and_reruns
    drawn = [
        rule
        for rule in everything
        if rule.startswith(("simulate", "observe", "train", "sample", "reference"))
    ]
    assert {rule: rerun["`seed`"].get(rule) and len(rerun["`seed`"][rule]) for rule in drawn} == {
        rule: len(everything[rule]) for rule in drawn
    }


def test_page_is_up_to_date(everything_and_reruns):
    everything, rerun = everything_and_reruns
    page = PAGE.read_text(encoding="utf-8")
    old, new = page[page.index(HEAD) :], table(rerun, everything)
    difference = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "page", "study"))
    assert not difference, f"run `python tests/dag/test_incremental.py`:\n{difference}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        study, everything = finished_study(Path(folder) / "study")
        rows = table({change.label: reruns(study, change) for change in CHANGES}, everything)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(HEAD)] + rows, encoding="utf-8")

"""What reruns after a change, for the whole study: every row of the table in docs/incremental.md is a dry run.

The finished study they start from is made up: see `study.take_as_finished`. After a change of the rules, `python
tests/dag/test_incremental.py` writes the table anew.
"""

from __future__ import annotations

import difflib
import tempfile
from pathlib import Path

import pytest
from changes import CHANGES, Change

from study import REPOSITORY, Study, clone, take_as_finished

pytestmark = pytest.mark.dag

PAGE = REPOSITORY / "docs/incremental.md"
HEAD = "| you change | what reruns |\n|---|---|\n"
Jobs = dict[str, list[str]]
# A rule per figure and per table would fill pages.
KINDS = {"draw_": "figures", "make_": "tables"}
# What is made from everything else, and so again after any change.
AFTER_ALL = {"collect_costs", "make_cost", "make_claims", "make_report"}
BY_LABEL = {change.label: change for change in CHANGES}


def finished_study(folder: Path) -> tuple[Study, Jobs]:
    """A study in which every job counts as done, and the outputs of all its jobs by rule."""
    study = clone(folder)
    return study, take_as_finished(study)


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

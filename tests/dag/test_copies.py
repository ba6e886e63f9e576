"""Results that were copied or damaged: what reruns is what would rerun where they were made.

The run is made up: see `study.take_as_finished`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from copies import (
    ARGUMENTS,
    CONFIG,
    COPIES,
    DAMAGES,
    RUN,
    TARGETS,
    cut,
    edit_and_hide_it,
    files_of,
    from_the_future,
    results_alone,
    with_metadata,
    without_large_files,
    without_times,
)

from study import Study, clone, take_as_finished

pytestmark = pytest.mark.dag


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    study = clone(tmp_path_factory.mktemp("copies") / "study")
    take_as_finished(study, *ARGUMENTS)
    return study


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.__name__)
def test_copied_results_are_recognised(finished, tmp_path, copy):
    study = clone(tmp_path / "study")
    copy(finished, study)
    assert study.planned(*ARGUMENTS) == {}


def test_a_run_can_be_renamed(finished, tmp_path):
    study = clone(tmp_path / "study")
    without_times(finished, study)
    (study.root / RUN).rename(study.root / "results/renamed")
    targets = [path.replace(RUN, "results/renamed") for path in TARGETS]
    assert study.planned(*targets, *CONFIG[:-1], "run=renamed") == {}


# Another user. Only root can become one; it keeps the right to read everything, as the interpreter may lie in a folder
# of root, and has no other right.

NOBODY = 65534
ONLY_READ = "-all,+dac_read_search"
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
AS_NOBODY += [f"--inh-caps={ONLY_READ}", f"--ambient-caps={ONLY_READ}", f"--bounding-set={ONLY_READ}"]


@pytest.fixture(scope="module")
def as_nobody() -> list[str]:
    """The words before a command that another user is to run."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not here to become another user")
    tried = subprocess.run([*AS_NOBODY, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"nobody can become another user here: {tried.stderr.strip()}")
    return AS_NOBODY


@pytest.fixture
def foreign() -> Iterator[Study]:
    """A clone of another user, in a place where they can write, without results."""
    with tempfile.TemporaryDirectory() as folder:
        study = clone(Path(folder) / "study")
        (Path(folder) / "home").mkdir()
        give_away(Path(folder))
        yield study


def give_away(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)


def run_as(as_nobody: list[str], study: Study, command: list[str]) -> subprocess.CompletedProcess:
    home = str(study.root.parent / "home")
    folders = {"HOME": home, "XDG_CACHE_HOME": home, "NUMBA_CACHE_DIR": home}
    environment = study.make_environment() | folders
    return subprocess.run(
        [*as_nobody, *command], cwd=study.root, env=environment, capture_output=True, text=True, check=False
    )


DRY_RUN = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", *ARGUMENTS]


def test_another_user_who_copies_results_goes_on_with_them(finished, as_nobody, foreign):
    from_the_future(finished, foreign)
    give_away(foreign.root / "results")
    done = run_as(as_nobody, foreign, DRY_RUN)
    assert "Nothing to be done" in done.stdout + done.stderr, done.stderr[-3000:]
    assert "only their owner" not in done.stderr


def test_results_of_somebody_else_are_recognised_and_left_alone(finished, as_nobody, foreign):
    """Read and judged where they lie; what would write to them says so before any job."""
    from_the_future(finished, foreign)
    before = {path: path.stat().st_mtime_ns for path in files_of(foreign)}
    done = run_as(as_nobody, foreign, DRY_RUN)
    assert "Nothing to be done" in done.stdout + done.stderr, done.stderr[-3000:]
    assert "look older than what they were made from, and only their owner can change that" in done.stderr
    refused = run_as(as_nobody, foreign, foreign.make_command(CONFIG="run=smoke"))
    assert refused.returncode != 0
    assert f"Cannot write to {foreign.root / RUN} (Permission denied): change its owner" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in files_of(foreign)} == before


def test_records_of_somebody_else_are_named(finished, as_nobody, foreign):
    """Results and Snakemake's own records belong to somebody else: one sentence, also of a dry run."""
    with_metadata(finished, foreign)
    done = run_as(as_nobody, foreign, DRY_RUN)
    assert done.returncode != 0
    assert "Cannot write to .snakemake (Permission denied): change its owner" in done.stderr
    assert "Error in file" not in done.stderr


@pytest.mark.parametrize(
    ("damage", "rules", "note"), DAMAGES, ids=lambda value: getattr(value, "__name__", "")
)
def test_damaged_results_are_made_again(finished, tmp_path, damage, rules, note):
    study = clone(tmp_path / "study")
    results_alone(finished, study)
    if damage is edit_and_hide_it:
        assert study.planned(*ARGUMENTS) == {}  # and their checksums are known from here on
    damage(study)
    jobs, text = study.dry_run(*ARGUMENTS)
    assert set(jobs) == rules
    if damage in (cut, edit_and_hide_it):
        assert all("/JAC" in path for path in jobs["sample"])
    assert note in text


# Changes: the table of docs/incremental.md holds for copies


def another_code(path: str) -> Callable[[Study], tuple[str, ...]]:
    def apply(study: Study) -> tuple[str, ...]:
        study.add_code(path)
        return ()

    return apply


def another_seed(study: Study) -> tuple[str, ...]:
    return ("seed=8",)


def another_resource(study: Study) -> tuple[str, ...]:
    with (study.root / "workflow/resources/sbibm_tables.csv").open("a") as table:
        table.write("\n")
    return ()


CHANGES = {
    "jac": another_code("src/tallsbi/compose/jac.py"),
    "figure": another_code("src/tallsbi/study/figures/sbibm_panels.py"),
    "seed": another_seed,
    "resource": another_resource,
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_rerun_the_same_in_a_copy(finished, tmp_path, name):
    plans = []
    for copy in (with_metadata, without_times):
        study = clone(tmp_path / copy.__name__)
        copy(finished, study)
        jobs = study.planned(*ARGUMENTS, *CHANGES[name](study))
        plans.append({rule: sorted(outputs) for rule, outputs in jobs.items()})
    assert plans[0] == plans[1] != {}
    if name == "figure":
        assert set(plans[0]) == {"draw_sbibm_sw_vs_nobs"}
    if name == "jac":
        assert all("/JAC" in path for path in plans[1]["sample"])


def test_a_figure_is_drawn_anew_from_its_data_alone(finished, tmp_path):
    study = clone(tmp_path / "study")
    without_large_files(finished, study)
    CHANGES["figure"](study)
    assert set(study.planned(*ARGUMENTS)) == {"draw_sbibm_sw_vs_nobs"}

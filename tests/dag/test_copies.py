"""Results that were copied or damaged: what reruns is what would rerun where they were made.

The run is made up: every file holds its own path, and `--touch` has Snakemake take it for the work of its job.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from study import Study, clone, setting
from tallsbi.runner.origins import checksum

pytestmark = pytest.mark.dag

SIZES = """
tasks: [slcp]
extra_tasks: []
sets: 1
n_obs: [1, 2]
n_train: [200]
simulations: 2000
observations: 4
training: {learning_rates: [0.0001, 0.001], batch_sizes: [256]}
"""
CONFIG = ("--config", setting("sbibm", SIZES), "run=smoke")
RUN = "results/smoke"
FIGURE, TABLES = (
    f"{RUN}/figures/sbibm_sw_vs_nobs.png",
    (f"{RUN}/tables/metric_summary.csv", f"{RUN}/tables/sbibm_slcp.csv"),
)
TARGETS = (FIGURE, *TABLES)
ARGUMENTS = (*TARGETS, *CONFIG)
SLCP = f"{RUN}/sbibm/slcp"
SAMPLES = f"{SLCP}/n_train~200/samples/JAC/batch~1-of-1.nc"
DISTANCES = f"{RUN}/sbibm/distances.csv"
ABOVE = ("*.nc", "*.safetensors", "choice.json")
Jobs = dict[str, list[str]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    study = clone(tmp_path_factory.mktemp("copies") / "study")
    for path in (path for paths in study.planned(*ARGUMENTS).values() for path in paths):
        (study.root / path).parent.mkdir(parents=True, exist_ok=True)
        (study.root / path).write_text(path)
    done = study.snakemake("--touch", "--forceall", "--cores", "2", *ARGUMENTS)
    assert done.returncode == 0, done.stderr[-3000:]
    return study


def files_of(study: Study, *patterns: str) -> list[Path]:
    """Results by name, in an order that has nothing to do with that of their jobs."""
    paths = [
        path for pattern in patterns or ("*",) for path in (study.root / RUN).rglob(pattern) if path.is_file()
    ]
    return random.Random(7).sample(sorted(paths), len(paths))


def below(*rules: str) -> set[str]:
    """These rules, and those of the tables and figures, which follow from all of them."""
    return {*rules, "make_sbibm_slcp", "make_metric_summary", "draw_sbibm_sw_vs_nobs"}


# Ways to copy: each fills the results of a fresh clone.


def copied(finished: Study, target: Study, keep_times: bool, names: Iterable[str]) -> None:
    for name in names:
        copy = shutil.copy2 if keep_times else shutil.copyfile
        shutil.copytree(finished.root / name, target.root / name, copy_function=copy, dirs_exist_ok=True)


def with_metadata(finished: Study, target: Study) -> None:
    copied(finished, target, True, ("results", ".snakemake"))


def with_metadata_and_new_times(finished: Study, target: Study) -> None:
    copied(finished, target, False, ("results", ".snakemake"))


def results_alone(finished: Study, target: Study) -> None:
    copied(finished, target, True, ("results",))


def without_times(finished: Study, target: Study) -> None:
    copied(finished, target, False, ("results",))
    for path in files_of(target):
        path.touch()


def of_one_time(finished: Study, target: Study) -> None:
    copied(finished, target, False, ("results",))
    for path in files_of(target):
        os.utime(path, (0, 0))


def from_the_future(finished: Study, target: Study) -> None:
    copied(finished, target, False, ("results",))
    for late, path in enumerate(files_of(target)):
        os.utime(path, (time.time() + 9000 + late,) * 2)


def by_git(finished: Study, target: Study) -> None:
    source, place = finished.root / "results", target.root / "results"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(source)]
    try:
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "results"]):
            subprocess.run([*git, *words], check=True)
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", str(source), str(place)], check=True)
    finally:
        shutil.rmtree(source / ".git", ignore_errors=True)


def by_archive(finished: Study, target: Study) -> None:
    archive = target.root / "results.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        opened.add(finished.root / "results", "results", filter=_anonymous)
    with tarfile.open(archive) as opened:
        opened.extractall(target.root, filter="data")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    return member


def read_only(finished: Study, target: Study) -> None:
    without_times(finished, target)
    for path in files_of(target):
        path.chmod(0o444)


def onto_older_results(finished: Study, target: Study) -> None:
    """Here lies a run of other settings, with Snakemake's records; the results are copied over it."""
    with_metadata(finished, target)
    for path in files_of(target, "*.nc", "*.csv"):
        path.write_text("older")
    done = target.snakemake("--touch", "--forceall", "--cores", "1", *ARGUMENTS, "seed=3")
    assert done.returncode == 0, done.stderr[-3000:]
    copied(finished, target, False, ("results",))


def without_what_is_above(finished: Study, target: Study) -> None:
    """As brought home from a cluster: tables and figures and the tidy data, without samples and networks."""
    without_times(finished, target)
    for path in files_of(target, *ABOVE):
        path.unlink()


COPIES = [
    with_metadata,
    with_metadata_and_new_times,
    results_alone,
    without_times,
    of_one_time,
    from_the_future,
    by_git,
    by_archive,
    read_only,
    onto_older_results,
    without_what_is_above,
]


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
BECOME = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
BECOME += [f"--inh-caps={ONLY_READ}", f"--ambient-caps={ONLY_READ}", f"--bounding-set={ONLY_READ}"]


@pytest.fixture(scope="module")
def become() -> list[str]:
    """The words before a command that another user is to run."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not here to become another user")
    tried = subprocess.run([*BECOME, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"nobody can become another user here: {tried.stderr.strip()}")
    return BECOME


@pytest.fixture
def theirs() -> Iterator[Study]:
    """A clone of another user, in a place where they can write, without results."""
    with tempfile.TemporaryDirectory() as folder:
        study = clone(Path(folder) / "study")
        (Path(folder) / "home").mkdir()
        give(Path(folder))
        yield study


def give(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)


def run_as(become: list[str], study: Study, command: list[str]) -> subprocess.CompletedProcess:
    home = str(study.root.parent / "home")
    place = {"HOME": home, "XDG_CACHE_HOME": home, "NUMBA_CACHE_DIR": home}
    environment = study.make_environment() | place
    return subprocess.run(
        [*become, *command], cwd=study.root, env=environment, capture_output=True, text=True, check=False
    )


DRY_RUN = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", *ARGUMENTS]


def test_another_user_who_copies_results_goes_on_with_them(finished, become, theirs):
    from_the_future(finished, theirs)
    give(theirs.root / "results")
    done = run_as(become, theirs, DRY_RUN)
    assert "Nothing to be done" in done.stdout + done.stderr, done.stderr[-3000:]
    assert "only their owner" not in done.stderr


def test_results_of_somebody_else_are_recognised_and_left_alone(finished, become, theirs):
    """Read and judged where they lie; what would write to them says so before any job."""
    from_the_future(finished, theirs)
    before = {path: path.stat().st_mtime_ns for path in files_of(theirs)}
    done = run_as(become, theirs, DRY_RUN)
    assert "Nothing to be done" in done.stdout + done.stderr, done.stderr[-3000:]
    assert "look older than what they were made from, and only their owner can change that" in done.stderr
    refused = run_as(become, theirs, theirs.make_command(CONFIG="run=smoke"))
    assert refused.returncode != 0
    assert f"Cannot write to {theirs.root / RUN} (Permission denied): change its owner" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in files_of(theirs)} == before


def test_records_of_somebody_else_are_named(finished, become, theirs):
    """Results and Snakemake's own records belong to somebody else: one sentence, also of a dry run."""
    with_metadata(finished, theirs)
    done = run_as(become, theirs, DRY_RUN)
    assert done.returncode != 0
    assert "Cannot write to .snakemake (Permission denied): change its owner" in done.stderr
    assert "Error in file" not in done.stderr


# Damage


def cut(study: Study) -> None:
    path = study.root / SAMPLES
    path.write_bytes(path.read_bytes()[:-5])


def edit_and_hide_it(study: Study) -> None:
    """Another content of the same length with the same time."""
    path = study.root / SAMPLES
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def empty(study: Study) -> None:
    (study.root / DISTANCES).write_bytes(b"")


def lose(study: Study) -> None:
    (study.root / FIGURE).unlink()


def forget(study: Study) -> None:
    (study.root / f"{RUN}/records/sbibm/distances.csv.origin.json").unlink()


def garble(study: Study) -> None:
    (study.root / f"{RUN}/records/sbibm/distances.csv.origin.json").write_bytes(b"{")


def mix(study: Study) -> None:
    """The simulations of another run, with their origin: nothing here is made from them."""
    path = study.root / f"{SLCP}/simulations.nc"
    origin = study.root / f"{RUN}/records/sbibm/slcp/simulations.nc.origin.json"
    text = origin.read_text()
    before = checksum(path)
    path.write_text("other")
    origin.write_text(text.replace(before, checksum(path)))


MEASURED = ("measure", "collect")
DAMAGES: list[tuple[Callable[[Study], None], set[str], str]] = [
    (cut, below("sample", *MEASURED), "other content than their jobs wrote"),
    (edit_and_hide_it, below("sample", *MEASURED), "other content than their jobs wrote"),
    (empty, below("collect"), "other content than their jobs wrote"),
    (lose, {"draw_sbibm_sw_vs_nobs"}, ""),
    (forget, below("collect"), "no record of where they come from"),
    (garble, below("collect"), "no record of where they come from"),
    (mix, below("train", "select", "sample", *MEASURED), "other inputs now than they were made from"),
]


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


def append(path: str) -> Callable[[Study], tuple[str, ...]]:
    def apply(study: Study) -> tuple[str, ...]:
        with (study.root / path).open("a") as opened:
            opened.write("\nLAST_CHANGE = 1\n")
        return ()

    return apply


def another_seed(study: Study) -> tuple[str, ...]:
    return ("seed=8",)


def another_resource(study: Study) -> tuple[str, ...]:
    with (study.root / "workflow/resources/sbibm_tables.csv").open("a") as opened:
        opened.write("\n")
    return ()


CHANGES = {
    "jac": append("src/tallsbi/compose/jac.py"),
    "figure": append("src/tallsbi/study/figures/sbibm_panels.py"),
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


def test_a_figure_is_drawn_anew_without_what_is_above(finished, tmp_path):
    study = clone(tmp_path / "study")
    without_what_is_above(finished, study)
    CHANGES["figure"](study)
    assert set(study.planned(*ARGUMENTS)) == {"draw_sbibm_sw_vs_nobs"}

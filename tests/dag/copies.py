"""A finished run for the tests of copies, the ways to copy it, and the ways to damage it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from study import Study, setting
from tallsbi.runner.origins import checksum

SIZES = """
tasks: [slcp]
extra_tasks: []
beyond_tasks: []
sets: 1
n_obs: [1, 2]
n_train: [200]
simulations: 2000
observations: 4
training: {learning_rates: [0.0001, 0.001], batch_sizes: [256]}
"""
CONFIG = ("--config", setting("sbibm", SIZES), "run=smoke")
RUN = "results/smoke"
FIGURE = f"{RUN}/figures/sbibm_sw_vs_nobs.png"
TABLES = (f"{RUN}/tables/metric_summary.csv", f"{RUN}/tables/sbibm_slcp.csv")
TARGETS = (FIGURE, *TABLES)
ARGUMENTS = (*TARGETS, *CONFIG)
SLCP = f"{RUN}/sbibm/slcp"
SAMPLES = f"{SLCP}/n_train~200/samples/JAC/batch~1-of-1.nc"
DISTANCES = f"{RUN}/sbibm/distances.csv"
LARGE_FILES = ("*.nc", "*.safetensors", "choice.json")


def files_of(study: Study, *patterns: str) -> list[Path]:
    """Results by name, in an order that has nothing to do with that of their jobs."""
    paths = [
        path for pattern in patterns or ("*",) for path in (study.root / RUN).rglob(pattern) if path.is_file()
    ]
    return random.Random(7).sample(sorted(paths), len(paths))


def with_all_below(*rules: str) -> set[str]:
    """These rules, and those of the tables and figures, which follow from all of them."""
    return {*rules, "make_sbibm_slcp", "make_metric_summary", "draw_sbibm_sw_vs_nobs"}


# Ways to copy: each fills the results of a fresh clone.


def copy_folders(finished: Study, target: Study, keep_times: bool, names: Iterable[str]) -> None:
    for name in names:
        copy = shutil.copy2 if keep_times else shutil.copyfile
        shutil.copytree(finished.root / name, target.root / name, copy_function=copy, dirs_exist_ok=True)


def with_metadata(finished: Study, target: Study) -> None:
    copy_folders(finished, target, True, ("results", ".snakemake"))


def with_metadata_and_new_times(finished: Study, target: Study) -> None:
    copy_folders(finished, target, False, ("results", ".snakemake"))


def results_alone(finished: Study, target: Study) -> None:
    copy_folders(finished, target, True, ("results",))


def without_times(finished: Study, target: Study) -> None:
    copy_folders(finished, target, False, ("results",))
    for path in files_of(target):
        path.touch()


def of_one_time(finished: Study, target: Study) -> None:
    copy_folders(finished, target, False, ("results",))
    for path in files_of(target):
        os.utime(path, (0, 0))


def from_the_future(finished: Study, target: Study) -> None:
    copy_folders(finished, target, False, ("results",))
    for delay, path in enumerate(files_of(target)):
        os.utime(path, (time.time() + 9000 + delay,) * 2)


def by_git(finished: Study, target: Study) -> None:
    source, copy = finished.root / "results", target.root / "results"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(source)]
    try:
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "results"]):
            subprocess.run([*git, *words], check=True)
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", str(source), str(copy)], check=True)
    finally:
        shutil.rmtree(source / ".git", ignore_errors=True)


def by_archive(finished: Study, target: Study) -> None:
    archive = target.root / "results.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(finished.root / "results", "results", filter=_anonymous)
    with tarfile.open(archive) as packed:
        packed.extractall(target.root, filter="data")


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
    copy_folders(finished, target, False, ("results",))


def without_large_files(finished: Study, target: Study) -> None:
    """As brought home from a cluster: tables and figures and the tidy data, without samples and networks."""
    without_times(finished, target)
    for path in files_of(target, *LARGE_FILES):
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
    without_large_files,
]


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
    (cut, with_all_below("sample", *MEASURED), "other content than their jobs wrote"),
    (edit_and_hide_it, with_all_below("sample", *MEASURED), "other content than their jobs wrote"),
    (empty, with_all_below("collect"), "other content than their jobs wrote"),
    (lose, {"draw_sbibm_sw_vs_nobs"}, ""),
    (forget, with_all_below("collect"), "no record of where they come from"),
    (garble, with_all_below("collect"), "no record of where they come from"),
    (
        mix,
        with_all_below("train", "select", "sample", *MEASURED),
        "other inputs now than they were made from",
    ),
]

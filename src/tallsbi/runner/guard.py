"""One run at a time in a directory, and a clean start after a run that was killed.

Snakemake locks its directory. If it is killed, its lock stays and its jobs go on. To tell a dead run from a working
one, the main process of each run (its head) keeps a record in `.snakemake/heads` while it works (`register`,
`release`) and marks the environment of its jobs. Before the next run, `prepare` reads these records:

- a head is alive and works on the same results: `prepare` raises `Busy` and names it;
- a head is dead: `prepare` ends its jobs, so that no two jobs write the same file, removes half-written files, and
  opens the lock;
- a directory cannot be written to: `prepare` raises `NotWritable`, before any job.

`make results` does this. Plain `snakemake` leaves the lock to its user, who knows what else runs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tallsbi.storage import files

HEADS = Path(".snakemake/heads")
LOCKS = Path(".snakemake/locks")
MARK = "TALLSBI_HEAD"
GRACE_SECONDS = 10.0  # that a job gets to tidy up and end
START_TOLERANCE = 60.0  # seconds by which two readings of the start of a process may differ


class GuardError(RuntimeError):
    """The run cannot start; the message says what to do."""


class Busy(GuardError):
    """Another run is at work."""


class NotWritable(GuardError):
    """A directory that the run needs cannot be written to."""


@dataclass(frozen=True)
class Head:
    """The main process of a run."""

    run: str
    host: str
    pid: int
    started: float  # when the process was created, since process numbers are used again

    @property
    def token(self) -> str:
        """The mark that its jobs carry in their environment."""
        return f"{self.host}:{self.pid}:{self.started:.2f}"

    @property
    def file(self) -> Path:
        return HEADS / f"{self.host}-{self.pid}.json"

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether the process still exists; a process of another machine counts as alive."""
        return not self.is_here or _is_head(self.pid, self.started)

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.started))
        return f"process {self.pid} on {self.host}, started {since}"


def _is_head(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        # If the clock was set, the process seems to have started at another time; its program still identifies it.
        is_same = abs(process.create_time() - started) < START_TOLERANCE or _is_snakemake(process)
        return is_same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _is_snakemake(process: psutil.Process) -> bool:
    """Whether one of the words that name the program is Snakemake."""
    return "snakemake" in [Path(word).name for word in process.cmdline()[:3]]


def register(run: str, root: Path = Path()) -> None:
    """Records this process as the head of `run`; its jobs inherit the mark."""
    head = Head(run, socket.gethostname(), os.getpid(), psutil.Process().create_time())
    files.write_json(asdict(head), root / head.file)
    os.environ[MARK] = head.token


def release(root: Path = Path()) -> None:
    """Removes the record of this process."""
    (root / Head("", socket.gethostname(), os.getpid(), 0.0).file).unlink(missing_ok=True)


def heads(root: Path) -> list[Head]:
    """The recorded heads, dead or alive. A record that cannot be read is skipped."""
    recorded = []
    for path in sorted((root / HEADS).glob("*.json")):
        with contextlib.suppress(files.DataError, TypeError, FileNotFoundError):
            recorded.append(Head(**files.read_json(path)))
    return recorded


def prepare(root: Path, run: str) -> list[str]:
    """Makes the directory ready for a run on results/`run`; returns in words what it had to do."""
    for folder in (Path("results") / run, Path(".snakemake")):
        check_writable(root, folder)
    known = heads(root)
    working = [head for head in known if head.is_alive]
    if rivals := [head for head in working if head.run == run]:
        raise Busy(_busy_message(rivals[0], root))
    notes = _end_orphans(root)
    for head in (head for head in known if head not in working):
        (root / head.file).unlink(missing_ok=True)
        notes.append(f"the last run ({head}) did not end in order")
    # While another run works in this directory the locks may be its own, and Snakemake compares their files.
    if not working and any((root / LOCKS).glob("*.lock")):
        if unrecorded := list(_unrecorded(root)):
            raise Busy(
                f"Another Snakemake works in {root.resolve()}: process {unrecorded[0].pid}. Wait for it to end, or use "
                "another directory."
            )
        unlock(root)
        notes.append("the lock it left is removed")
    if not working and (count := sweep(root / "results" / run)):
        notes.append(f"{count} half-written files are removed")
    return notes


def _busy_message(head: Head, root: Path) -> str:
    text = (
        f"Another run works on results/{head.run}: {head}. Wait for it to end, or use another directory or "
        "another name (CONFIG='run=...')."
    )
    if not head.is_here:
        text += f" If it is no longer alive on {head.host}, delete {root / head.file} and start again."
    return text


def check_writable(root: Path, folder: Path) -> None:
    """Tries to write a file to the folder, or to its first existing parent: permission bits do not say enough."""
    place = root / folder
    while not place.exists():
        place = place.parent
    probe = place / f".probe-{os.getpid()}"
    try:
        probe.write_bytes(b"0")
    except OSError as error:
        remedy = (
            "make room"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "change its owner, its permissions or the way it is mounted, or work in another copy"
        )
        raise NotWritable(f"Cannot write to {place} ({error.strerror}): {remedy}.") from error
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)


def demand_gpu() -> None:
    """Ends the run if torch has no GPU here, before any job fails for lack of one."""
    import torch

    if not torch.cuda.is_available():
        print(
            "device = 'cuda', but torch sees no GPU on this machine: no job was started. Set device=cpu, or run where "
            "there is one (`nvidia-smi` lists them; docs/cluster.md sends the jobs that need one to a GPU partition).",
            file=sys.stderr,
        )
        sys.exit(1)


def _processes() -> Iterator[tuple[psutil.Process, str]]:
    """The processes of this user, each with the mark in its environment, if there is one."""
    for process in psutil.process_iter():
        try:
            yield process, process.environ().get(MARK, "")
        except (psutil.Error, OSError):  # another user's, or gone in the meantime
            continue


def _end_orphans(root: Path) -> list[str]:
    """Ends the jobs in this directory whose head is dead; they get a signal first, so that they can tidy up."""
    place = root.resolve()
    orphans = [process for process, mark in _processes() if _is_orphan(mark) and _folder(process) == place]
    for process in orphans:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, remaining = psutil.wait_procs(orphans, timeout=GRACE_SECONDS)
    for process in remaining:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(remaining, timeout=GRACE_SECONDS)
    return [f"{len(orphans)} processes of a dead run are ended"] if orphans else []


def _is_orphan(mark: str) -> bool:
    """Whether a mark names a dead head of this machine; jobs of another machine are left alone."""
    if not mark.startswith(f"{socket.gethostname()}:"):
        return False
    pid, started = mark.split(":")[1:]
    return not _is_head(int(pid), float(started))


def _folder(process: psutil.Process) -> Path | None:
    try:
        return Path(process.cwd())
    except (psutil.Error, OSError):
        return None


def _unrecorded(root: Path) -> Iterator[psutil.Process]:
    """Snakemake processes in this directory that have no record yet: they have the lock, but no job has started."""
    ancestors = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    for process, mark in _processes():
        if process.pid in ancestors or mark or _folder(process) != root.resolve():
            continue
        with contextlib.suppress(psutil.Error):
            if _is_snakemake(process):
                yield process


def unlock(root: Path) -> None:
    """Opens Snakemake's lock, with Snakemake's own command."""
    command = [sys.executable, "-m", "snakemake", "--unlock", "--cores", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GuardError(f"The lock of a dead run could not be removed:\n{done.stderr.strip()}")


def sweep(folder: Path) -> int:
    """Removes the half-written files that killed jobs left under `folder`; returns how many."""
    half_written = [path for path in folder.rglob(".*") if files.is_temporary(path)]
    for path in half_written:
        path.unlink(missing_ok=True)
    return len(half_written)

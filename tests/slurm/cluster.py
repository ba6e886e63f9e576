"""A SLURM with two nodes on this machine, for the tests of the cluster profile.

    python tests/slurm/cluster.py install | start | stop

The nodes are two slurmd daemons of one host. Keys, sockets, logs and process ids are in STATE. Only slurm.conf and
gres.conf are elsewhere, in /etc/slurm, because the commands inside a job look for them there and nowhere else; a file
that this module did not write is never touched. `stop` works from the process ids on disk, so it also cleans up
after a run that was killed. A lock keeps two runs apart.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CONF = Path("/etc/slurm/slurm.conf")
STATE = Path("/run/tallsbi-slurm")
LOCK = Path("/run/tallsbi-slurm.lock")
MARK = "# Written by tests/slurm/cluster.py of tallsbi; removed when its tests end."
PACKAGES = ("slurm-wlm", "munge")
COMMANDS = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "munged")
NODES = ("n1", "n2")
NAME = "tallsbi-test"
PARTITION, GPU_PARTITION = "tallsbi", "tallsbi-gpu"
# Ports of their own: a daemon that belongs to somebody else keeps SLURM's default ones.
CONTROL_PORT, NODE_PORT = 16817, 16821
DAEMONS = ("slurmctld", *(f"slurmd.{node}" for node in NODES), "munged")


class Unavailable(RuntimeError):
    """SLURM cannot run here; the message says what it needs."""


def configuration(host: str) -> str:
    """slurm.conf: memory is enforced by accounting, so that no control groups are needed."""
    return f"""{MARK}
ClusterName={NAME}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={CONTROL_PORT}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={STATE}/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={STATE}/control
SlurmctldPidFile={STATE}/slurmctld.pid
SlurmctldLogFile={STATE}/slurmctld.log
SlurmdPidFile={STATE}/slurmd.%n.pid
SlurmdLogFile={STATE}/slurmd.%n.log
SlurmdSpoolDir={STATE}/spool.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
GresTypes=gpu
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2
MinJobAge=3600
KillWait=5
ReturnToService=2
NodeName=n[1-{len(NODES)}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{NODE_PORT}-{NODE_PORT + len(NODES) - 1}] \
CPUs=1 RealMemory=64000 Gres=gpu:1 State=UNKNOWN
PartitionName={PARTITION} Nodes=ALL Default=YES State=UP
PartitionName={GPU_PARTITION} Nodes=n2 State=UP
"""


def devices() -> str:
    """gres.conf: a GPU on each node that is none, so that jobs can ask for one."""
    return f"{MARK}\nName=gpu File=/dev/null\n"


def check() -> None:
    """Raises `Unavailable` unless SLURM is installed or can be, and is nobody else's."""
    if os.geteuid() != 0:
        raise Unavailable("a SLURM of our own needs root: run as root, for example in a container")
    if not _installed() and shutil.which("apt-get") is None:
        raise Unavailable(f"neither SLURM nor apt-get is here: install {' and '.join(PACKAGES)} by hand")
    for file in _files():
        if file.exists() and not _ours(file):
            raise Unavailable(f"{file} belongs to another SLURM: run this on a machine that is in no cluster")
    host = socket.gethostname()
    try:
        socket.gethostbyname(host)
    except OSError as error:
        message = f"the host name {host} has no address: add '127.0.0.1 {host}' to /etc/hosts"
        raise Unavailable(message) from error


def install() -> None:
    """Installs the Debian packages unless they are there."""
    check()
    if _installed():
        return
    print(f"Installing {' and '.join(PACKAGES)}", file=sys.stderr, flush=True)
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    wanted = [*apt, "install", "-y", "--no-install-recommends", *PACKAGES]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (wanted, [*apt, "update"], wanted):
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, env=environment, **output)
        if _installed():
            return
    raise Unavailable(f"apt-get could not install {' and '.join(PACKAGES)}: {done.stdout.strip()[-500:]}")


@contextmanager
def running() -> Iterator[None]:
    """SLURM with both nodes idle; stopped again at the end, whatever happened."""
    check()
    with _locked():
        try:
            _start()
            yield
        finally:
            _stop()


@dataclass(frozen=True)
class Job:
    """A job as SLURM knows it, also after its end."""

    id: int
    name: str
    state: str
    memory: str
    start: str
    end: str
    comment: str
    partition: str
    task: str  # its number in an array, or N/A


def jobs() -> list[Job]:
    """All jobs since the start of SLURM, oldest first."""
    fields = "JobID,Name,State,MinMemory,StartTime,EndTime,Comment,Partition,ArrayTaskID"
    widths = ",".join(f"{field}:|" for field in fields.split(","))
    listed = _output("squeue", "--states=all", "--noheader", f"--Format={widths}")
    rows = (line.split("|") for line in listed.splitlines())
    return sorted((Job(int(row[0]), *row[1:9]) for row in rows), key=lambda job: job.id)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Returns as soon as the condition holds; raises with the name of what did not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:g} seconds")
        time.sleep(0.2)


def _start() -> None:
    _stop()
    munge = STATE / "munge"
    for folder in (STATE, munge, STATE / "control", *(STATE / f"spool.{node}" for node in NODES)):
        folder.mkdir(mode=0o755)
    key = munge / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    CONF.parent.mkdir(exist_ok=True)
    conf, gres = _files()
    conf.write_text(configuration(socket.gethostname()))
    gres.write_text(devices())
    try:
        munge_files = (f"--key-file={key}", f"--socket={munge}/socket", f"--seed-file={munge}/seed")
        _output("munged", *munge_files, f"--pid-file={STATE}/munged.pid", f"--log-file={STATE}/munged.log")
        _output("slurmctld")
        for node in NODES:
            _output("slurmd", "-N", node)
        wait_for(_idle, "all nodes idle")
    except (subprocess.CalledProcessError, TimeoutError) as error:
        logs = "\n".join(f"{log.name}: {log.read_text()[-1000:]}" for log in sorted(STATE.glob("*.log")))
        raise RuntimeError(f"SLURM did not start: {error}\n{getattr(error, 'stderr', '')}\n{logs}") from error


def _stop() -> None:
    """Ends the jobs, then the daemons by their process ids; removes what was written."""
    if _alive("slurmctld"):
        # Jobs first: their processes would outlive the daemons.
        for partition in (PARTITION, GPU_PARTITION):
            subprocess.run(["scancel", "--quiet", f"--partition={partition}"], check=False)
        try:
            wait_for(lambda: not _output("squeue", "--noheader"), "end of all jobs", seconds=40)
        except (subprocess.CalledProcessError, TimeoutError) as error:
            print(f"jobs may be left over: {error}", file=sys.stderr)
    for daemon in DAEMONS:
        _end(daemon)
    for process in _leftovers():
        print(f"ending process {process}, which outlived its job", file=sys.stderr)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for file in _files():
        if file.exists() and _ours(file):
            file.unlink()
    shutil.rmtree(STATE, ignore_errors=True)


def _end(daemon: str) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not (process := _alive(daemon)):
            return
        os.kill(process, number)
        try:
            wait_for(lambda: not _alive(daemon), f"end of {daemon}", seconds=15)
        except TimeoutError as error:
            print(error, file=sys.stderr)


def _alive(daemon: str) -> int | None:
    """The process id of a daemon of ours that runs.

    A process that only waits to be reaped does not count, nor does a number the system has given to another.
    """
    try:
        process = int((STATE / f"{daemon}.pid").read_text())
        _, name, state = Path(f"/proc/{process}/stat").read_text().split()[:3]
    except (OSError, ValueError):
        return None
    return process if name == f"({daemon.split('.')[0]})" and state != "Z" else None


def _leftovers() -> list[int]:
    """Processes of our jobs, by the environment SLURM gave them: process groups do not hold on to all."""
    mark = f"SLURM_CLUSTER_NAME={NAME}".encode()
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        # A process may end while we look at it.
        with suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                processes.append(int(folder.name))
    return processes


def _idle() -> bool:
    try:
        states = _output("sinfo", "--noheader", f"--partition={PARTITION}", "--format=%D %T")
    except subprocess.CalledProcessError:
        return False
    return states.strip() == f"{len(NODES)} idle"


def _installed() -> bool:
    return all(shutil.which(command) for command in COMMANDS)


def _files() -> tuple[Path, Path]:
    return CONF, CONF.with_name("gres.conf")


def _ours(conf: Path) -> bool:
    return conf.read_text(errors="replace").startswith(MARK)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def _locked() -> Iterator[None]:
    with open(LOCK, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = "another `make slurm-test` uses SLURM on this machine: wait for its end"
            raise Unavailable(message) from error
        yield


def main(command: str) -> None:
    actions = {"install": install, "start": _start, "stop": _stop}
    if command not in actions:
        raise Unavailable(f"usage: cluster.py {' | '.join(actions)}")
    if command == "install":
        install()
    else:
        check()
        with _locked():
            actions[command]()


if __name__ == "__main__":
    try:
        main(" ".join(sys.argv[1:]))
    except Unavailable as reason:
        sys.exit(f"No local SLURM: {reason}.")

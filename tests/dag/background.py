"""A small run in the background, its processes, and the ways to kill them.

One task with a small network, from simulation to samples. Moments are drawn from a seed.
"""

from __future__ import annotations

import random
import shlex
import subprocess
import time
from contextlib import suppress

import psutil

from study import Study, setting
from tallsbi.runner import guard

SIZES = """
tasks: [gaussian_linear]
extra_tasks: []
beyond_tasks: []
sets: 1
n_obs: [1, 2]
n_train: [200]
simulations: 2000
observations: 4
epochs: 800
samples: 30
max_steps: 10
training: {learning_rates: [0.0001], batch_sizes: [256]}
"""
METHODS = "GAUSS: {cov_samples: 20, cov_steps: 5}"
FOLDER = "results/smoke/sbibm/gaussian_linear"
SIMULATIONS = f"{FOLDER}/simulations.nc"
TRAINING = f"{FOLDER}/training/n_train~200/bs~256-lr~0.0001"
NETWORK, CHECKPOINTS = f"{TRAINING}/network.safetensors", f"{TRAINING}/checkpoints"
TRAINING_LOG = NETWORK.replace("/sbibm/", "/logs/sbibm/").replace("/network.safetensors", ".log")
SAMPLES = f"{FOLDER}/n_train~200/samples/GAUSS/batch~1-of-1.nc"
CONFIG = (setting("sbibm", SIZES), setting("methods", METHODS), "run=smoke")
MOMENTS = random.Random(2026)
LONGEST_WAIT = 400  # seconds, then the test fails


class EndedEarly(AssertionError):
    """A run has ended before what was waited for."""


class Run:
    """`make results`, in the background."""

    def __init__(self, study: Study, target: str = SAMPLES):
        self.study = study
        self.output = study.root.parent / f"output-{time.monotonic_ns()}"
        command = study.make_command(CONFIG=shlex.join(CONFIG), ARGS=target)
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                command,
                cwd=study.root,
                env=study.make_environment(),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait(self) -> str:
        """All that it has printed, when it has ended."""
        self.process.wait(LONGEST_WAIT)
        return self.output.read_text()

    def until(self, condition, what: str):
        """Waits until `condition()` gives something, and returns that."""
        end = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < end:
            if result := condition():
                return result
            if self.process.poll() is not None:
                raise EndedEarly(f"ended before {what}:\n{self.output.read_text()[-3000:]}")
            time.sleep(0.02)
        raise AssertionError(f"no {what} within {LONGEST_WAIT} seconds")

    def head(self) -> psutil.Process:
        alive = lambda: [head for head in guard.heads(self.study.root) if head.is_alive]  # noqa: E731
        return psutil.Process(self.until(alive, "head")[0].pid)

    def job(self, script: str) -> psutil.Process:
        """The process that runs a script of the workflow."""
        return self.until(lambda: next(jobs_of(self.study, script), None), script)


def jobs_of(study: Study, script: str = ""):
    """Processes that run a script, or any; Snakemake runs a copy of it called <random>.<script>.py."""
    end = f".{script}.py" if script else ".py"
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if process.cwd() == str(study.root) and any(
                ".snakemake/scripts/" in word and word.endswith(end) for word in words
            ):
                yield process
        except (psutil.Error, OSError):
            continue


def pause(longest: float) -> None:
    time.sleep(MOMENTS.uniform(0, longest))


def kill_head(run: Run) -> bool:
    """Kills the head alone; its jobs go on."""
    head = run.head()
    pause(4)
    with suppress(psutil.NoSuchProcess):
        head.kill()
    return run.process.wait(LONGEST_WAIT) != 0


def kill_all(run: Run) -> bool:
    """Kills make, the head and its jobs in one go, as a machine that loses its power does."""
    run.head()
    pause(4)
    make = psutil.Process(run.process.pid)
    for process in [make, *make.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return run.process.wait(LONGEST_WAIT) != 0


def kill_job(run: Run) -> bool:
    """Kills one job; the head says so and ends."""
    job = run.job("")
    pause(1)
    with suppress(psutil.NoSuchProcess):
        job.kill()
    return run.process.wait(LONGEST_WAIT) != 0

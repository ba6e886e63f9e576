"""What every script of the workflow starts with: log, threads, settings, and outputs with provenance.

    job = start(snakemake)
    from package import compute  # imported after the threads are set
    job.write(compute(job.settings, seed=job.seed, progress=job.progress))

The params of the rule hold `code` (fingerprint), `config` (the settings it depends on) and `versions` (of the packages
it depends on): a change of any of them reruns the job. Any object with the attributes of Snakemake's `snakemake` will
do, so a script can run in a debugger.

Nothing here imports numpy, because numerical libraries read their number of threads once, when they are imported.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, TypeVar

from tallsbi.progress import progress as report_progress
from tallsbi.runner import logs, origins, provenance
from tallsbi.storage import files

Item = TypeVar("Item")

# JAX takes the size of its pools from NPROC.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC")
# With one thread, JAX computes in the calling thread: handing every small product to a pool and waiting for it takes
# several times as long on a busy machine.
_XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


class JobError(ValueError):
    """A rule does not pass what its script needs."""


@dataclass(frozen=True)
class Job:
    """One running job."""

    rule: str
    settings: Mapping[str, Any]
    code: str
    packages: tuple[str, ...]
    outputs: Any
    threads: int
    log: logging.Logger
    log_path: Path | None

    @property
    def seed(self) -> int:
        """The study seed, from which all random streams derive."""
        if "seed" not in self.settings:
            raise JobError(
                f"rule {self.rule} draws random numbers, but the `config` of its params has no `seed`: "
                "add it, or another seed would not rerun the job"
            )
        return self.settings["seed"]

    def progress(self, iterable: Iterable[Item], *, total: int | None = None, label: str) -> Iterator[Item]:
        """Yields the items and reports how far the loop is, in the log file if there is one."""
        # Bars of jobs that run side by side would overwrite each other in the terminal.
        bar = None if self.log_path is None else False
        return report_progress(iterable, total=total, label=label, bar=bar)

    def provenance(self, *stream: str | int | float) -> dict[str, str]:
        """The record of this job; `stream` names the random stream if there is a single one."""
        return provenance.record(
            seed=self.settings.get("seed"),
            config=self.settings,
            code=self.code,
            packages=self.packages,
            stream=stream,
        )

    def output(self, key: int | str = 0) -> Path:
        """The path of an output by its position or name."""
        try:
            return Path(_pick(self.outputs, key))
        except (AttributeError, KeyError, IndexError) as error:
            raise JobError(f"rule {self.rule} declares no output {key!r}: add it to the rule") from error

    def write(self, product: Any, output: int | str = 0) -> None:
        """Writes a product with its provenance, to the output of the given position or name.

        A dataset becomes netCDF and a figure what the suffix says, both with the record inside. A data frame becomes
        CSV and text stays text, with the record and a checksum in a file next to it.
        """
        path, record = self.output(output), self.provenance()
        if _is_a(product, "xarray", "Dataset"):
            files.write_dataset(provenance.attach(product, record), path)
        elif _is_a(product, "matplotlib.figure", "Figure"):
            with files.atomic_path(path) as temporary:
                product.savefig(temporary, metadata=provenance.figure_metadata(record, path.suffix[1:]))
        elif isinstance(product, str) or _is_a(product, "pandas", "DataFrame"):
            text = product if isinstance(product, str) else files.table_text(product)
            # The record comes first, so that a finished table is never without one.
            provenance.write_sidecar(path, {**record, "sha256": files.digest(text.encode())})
            files.write_text(text, path)
        else:
            raise TypeError(
                f"rule {self.rule}: cannot write a {type(product).__name__} to {path}: "
                "give an xarray.Dataset, a pandas.DataFrame, a matplotlib Figure or text"
            )
        self.log.info("wrote %s", path)


def start(snakemake: Any) -> Job:
    """Sets up log and threads of the job and collects what the rule passes to it."""
    rule = str(snakemake.rule)
    log_path = _log_path(snakemake.log)
    log = logs.setup(log_path, rule)
    _end_on_termination(log)
    threads = int(snakemake.threads)
    set_threads(threads)
    packages = tuple(sorted(_param(snakemake, "versions")))
    settings, code = _param(snakemake, "config"), str(_param(snakemake, "code"))
    log.info("started with %d threads, code %s, settings %s", threads, code, files.canonical_json(settings))
    origins.write_at_exit(snakemake)
    return Job(rule, settings, code, packages, snakemake.output, threads, log, log_path)


def set_threads(threads: int) -> None:
    """Limits the threads of the numerical libraries: those imported later, and torch and numba if loaded."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag != _XLA_ONE_THREAD]
    os.environ["XLA_FLAGS"] = " ".join([*flags, *([_XLA_ONE_THREAD] if threads == 1 else [])])
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)
    numba = sys.modules.get("numba")
    if numba is None:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    else:
        # Once loaded, numba refuses another value of its variable, and more threads than it started with.
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))


def _param(snakemake: Any, name: str) -> Any:
    try:
        return _pick(snakemake.params, name)
    except (AttributeError, KeyError) as error:
        raise JobError(
            f"rule {snakemake.rule} has no `{name}` in its params: "
            "every script needs code, config and versions"
        ) from error


def _pick(container: Any, key: int | str) -> Any:
    """An item by position or name, from Snakemake's lists or from plain objects in their place."""
    if isinstance(container, (str, Path)):
        container = [container]
    if isinstance(container, SimpleNamespace):
        container = vars(container)
    if isinstance(container, Mapping):
        return container[key] if isinstance(key, str) else list(container.values())[key]
    return container[key] if isinstance(key, int) else getattr(container, key)


def _log_path(log: Any) -> Path | None:
    if not log:
        return None
    return Path(log if isinstance(log, (str, Path)) else log[0])


def _is_a(product: Any, module: str, name: str) -> bool:
    # The code that made the product has imported its library; an import here would cost every other job.
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(product, getattr(loaded, name))


def _end_on_termination(log: logging.Logger) -> None:
    """Turns the scheduler's signal into an exit, so that a stopped job removes its temporary files."""

    def stop(number: int, frame: FrameType | None) -> None:
        log.error("stopped by signal %d: cancelled, or over its time limit", number)
        raise SystemExit(128 + number)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)

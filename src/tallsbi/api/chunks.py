"""Chunks of simulations: what one holds, how it is simulated, in which process, and where it is kept."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tallsbi.api.inputs import as_tensor
from tallsbi.api.streams import code_digest, seeded
from tallsbi.storage import files
from tallsbi.storage.tensors import read_tensors, write_tensors

Simulator = Callable[..., Any]
"""Parameters [N, m] (torch, float32) in, one observation each out: [N, d], torch, numpy or lists."""

RESULT = "the simulator's result"
"""What error messages call what a simulator returned."""


class SimulationError(ValueError):
    """A simulation failed: `theta` are its parameters, `simulations` the pairs (theta, x) finished by then.

    The pairs can be given to `TallPosterior.fit` in place of the simulator.
    """

    def __init__(self, message: str, theta: Tensor, simulations: tuple[Tensor, Tensor] | None = None) -> None:
        super().__init__(message)
        self.theta, self.simulations = theta, simulations


class WrongResult(ValueError):
    """A simulator returned something other than observations: not a failure of some parameters."""


class Stack(NamedTuple):
    """Observations [N, ...], and the length of each where they differ: padding is no failure, though both are NaN."""

    x: Float[Tensor, "N ..."]
    lengths: Int[Tensor, "N"] | None = None

    @property
    def failed(self) -> Bool[Tensor, "N"]:
        """Observations with numbers that are not finite."""
        missing = ~self.x.isfinite().flatten(2).all(2) if self.x.ndim > 2 else ~self.x.isfinite()
        if self.lengths is not None:
            missing &= torch.arange(self.x.shape[1]) < self.lengths[:, None]
        return missing.any(1)


def stacked(rows: list[np.ndarray | None], name: str = RESULT) -> Stack:
    """Rows of one shape, or of one shape except for the length of the first axis: shorter ones end with NaN."""
    shapes = {row.shape for row in rows if row is not None}
    longest = max(shapes, default=(1,))
    if len({shape[1:] for shape in shapes}) > 1 or len({len(shape) for shape in shapes}) > 1:
        raise ValueError(
            f"{name}: observations of different shapes, such as {' and '.join(map(str, sorted(shapes)[:2]))}; "
            "only the length of the first axis may vary."
        )
    x = np.full((len(rows), *longest), np.nan, dtype=np.float32)
    for target, row in zip(x, rows, strict=True):
        if row is not None:
            target[: len(row)] = row
    if len(shapes) < 2:
        return Stack(torch.from_numpy(x))
    lengths = torch.tensor([longest[0] if row is None else len(row) for row in rows])
    return Stack(torch.from_numpy(x), lengths)


def rows_of(result: Any, count: int, batched: bool) -> list[np.ndarray]:
    """One array per parameter, at least one axis each."""
    if isinstance(result, (list, tuple)) and batched and len({np.shape(row) for row in result}) > 1:
        arrays = [as_tensor(row, RESULT).float().numpy() for row in result]  # of different lengths
    else:
        array = as_tensor(result, RESULT).float().numpy()
        if not batched:
            return [array.reshape(1) if array.ndim == 0 else array]
        if array.ndim < 2 or len(array) != count or 0 in array.shape:
            hint = (
                "for numbers, add an axis: x[:, None]"
                if array.shape == (count,)
                else (
                    "it is called with many parameters at once, as rows; give batched=False for a simulator that takes "
                    "a single vector"
                )
            )
            raise WrongResult(
                f"{RESULT} has shape {array.shape} for {count} parameters: expected [{count}, d]; {hint}."
            )
        arrays = list(array)
    if len(arrays) != count:
        raise WrongResult(f"{RESULT} is a list of {len(arrays)} observations for {count} parameters.")
    return arrays


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of a chunk, None where the simulator raised an exception; the text of each, by row, and the last one."""

    rows: list[np.ndarray | None]
    errors: dict[int, str] = field(default_factory=dict)
    cause: BaseException | None = None


@dataclass(frozen=True, eq=False)
class Manner:
    """How the simulator wants its parameters: `batched` as rows, `numpy` as arrays in place of tensors.

    `stop`: at the first exception, instead of going on with other parameters.
    """

    simulator: Simulator
    batched: bool
    numpy: bool
    stop: bool

    def call(self, arguments: tuple[Tensor, ...]) -> Any:
        # Copies: a simulator may write into what it is given.
        return self.simulator(*(a.numpy().copy() if self.numpy else a.clone() for a in arguments))

    def chunk(self, arguments: tuple[Tensor, ...], seed: int) -> Chunk:
        with seeded(self.simulator, seed):
            return self._at_once(arguments) if self.batched else self._one_by_one(arguments)

    def _one_by_one(self, arguments: tuple[Tensor, ...]) -> Chunk:
        rows: list[np.ndarray | None] = []
        errors: dict[int, str] = {}
        cause: BaseException | None = None
        for i, single in enumerate(zip(*arguments, strict=True)):
            try:
                result = self.call(single)
            except Exception as error:
                errors[i], cause = error_text(error), error
                rows.append(None)
                if self.stop:
                    break
            else:
                rows += rows_of(result, 1, False)
        return Chunk(rows, errors, cause)

    def _at_once(self, arguments: tuple[Tensor, ...]) -> Chunk:
        """Where a call fails, halves of it are called until the rows that fail are alone."""
        count = len(arguments[0])
        try:
            result = self.call(arguments)
        except Exception as error:
            if self.stop or count == 1:
                return Chunk([None] * count, dict.fromkeys(range(count), error_text(error)), error)
            middle = count // 2
            first, second = (
                self._at_once(tuple(a[part] for a in arguments))
                for part in (slice(middle), slice(middle, None))
            )
            second_errors = {middle + row: text for row, text in second.errors.items()}
            return Chunk([*first.rows, *second.rows], {**first.errors, **second_errors})
        return Chunk([*rows_of(result, count, True)])


def error_text(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def serial(manner: Manner, jobs: dict[int, Any]) -> Iterator[tuple[int, Chunk]]:
    for start, job in jobs.items():
        yield start, manner.chunk(*job)


def parallel(manner: Manner, jobs: dict[int, Any], workers: int) -> Iterator[tuple[int, Chunk]]:
    # A forked process has the simulator already; elsewhere it is pickled.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(workers, context, _start_process, (manner,))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            futures = {pool.submit(_chunk_in_process, *job): start for start, job in jobs.items()}
        pending = set(futures)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield futures[future], future.result()
    except BrokenProcessPool as error:
        unfinished = pending | done
        theta = jobs[min(futures[future] for future in unfinished)][0][0][0]
        raise SimulationError(
            "a process of the simulator ended without an error message (out of memory, or a crash in compiled code) "
            f"while {len(unfinished)} chunks were unfinished, the first begins with theta = {theta.tolist()}; try "
            "workers=1, or fewer rows per chunk (chunk_size), with a checkpoint_dir to keep what is finished.",
            theta,
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_process_manner: list[Manner] = []  # the manner of this process, once it is set


def _start_process(manner: Manner) -> None:
    torch.set_num_threads(1)  # threads of a forked process can wait for each other forever
    _process_manner[:] = [manner]


def _chunk_in_process(arguments: tuple[Tensor, ...], seed: int) -> Chunk:
    return replace(_process_manner[0].chunk(arguments, seed), cause=None)  # not every exception can be sent


class Store:
    """Finished chunks on disk, for this simulator, these parameters, this seed and this size of chunks."""

    def __init__(
        self, folder: Path | None, manner: Manner, arguments: tuple[Tensor, ...], seed: int, size: int
    ) -> None:
        self.folder = folder
        if folder is not None:
            digests = [files.digest(a.contiguous().numpy().tobytes()) for a in arguments]
            self.identity = [*digests, seed, size, code_digest(manner.simulator)]

    def write(self, start: int, chunk: Chunk) -> None:
        if self.folder is None:
            return
        header = {
            "simulation": self.identity,
            "errors": {str(row): text for row, text in chunk.errors.items()},
        }
        tensors = {str(i): torch.from_numpy(row) for i, row in enumerate(chunk.rows) if row is not None}
        if len({tensor.shape for tensor in tensors.values()}) == 1:
            tensors = {"x": stacked(chunk.rows).x}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_tensors(tensors, {**header, "rows": len(chunk.rows)}, self.folder / f"{start}.safetensors")

    def read(self, start: int) -> Chunk | None:
        path = None if self.folder is None else self.folder / f"{start}.safetensors"
        if path is None or not path.exists():
            return None
        try:
            tensors, header = read_tensors(path, "np")
        except files.DataError:
            return None  # damaged: simulated again
        if header["simulation"] != self.identity:
            return None
        errors = {int(row): text for row, text in header["errors"].items()}
        x = tensors.get("x")
        rows = [
            None if i in errors else (tensors[str(i)] if x is None else x[i]) for i in range(header["rows"])
        ]
        return Chunk(rows, errors)

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

NAME = "the simulator's result"


class SimulationError(ValueError):
    """A simulation failed: `theta` are its parameters, `simulations` the pairs (theta, x) finished by then.

    The pairs can be given to `TallPosterior.fit` in place of the simulator.
    """

    def __init__(self, message: str, theta: Tensor, simulations: tuple[Tensor, Tensor] | None = None) -> None:
        super().__init__(message)
        self.theta, self.simulations = theta, simulations


class WrongResult(ValueError):
    """A simulator that returns something else than observations: no failure of some parameters."""


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


def stacked(rows: list[np.ndarray | None], name: str = NAME) -> Stack:
    """Rows of one shape, or of one shape but for the length of the first axis: shorter ones end with NaN."""
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
        arrays = [as_tensor(row, NAME).float().numpy() for row in result]  # of different lengths
    else:
        array = as_tensor(result, NAME).float().numpy()
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
                f"{NAME} has shape {array.shape} for {count} parameters: expected [{count}, d]; {hint}."
            )
        arrays = list(array)
    if len(arrays) != count:
        raise WrongResult(f"{NAME} is a list of {len(arrays)} observations for {count} parameters.")
    return arrays


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of a chunk, None where the simulator raised an exception, and its words by row."""

    rows: list[np.ndarray | None]
    errors: dict[int, str] = field(default_factory=dict)
    cause: BaseException | None = None


@dataclass(frozen=True, eq=False)
class Manner:
    """How the simulator wants its parameters: `batched` as rows, `numpy` as arrays in place of tensors."""

    simulator: Simulator
    batched: bool
    numpy: bool
    stop: bool

    def call(self, arguments: tuple[Tensor, ...]) -> Any:
        # Copies: a simulator may write into what it is given.
        return self.simulator(*(a.numpy().copy() if self.numpy else a.clone() for a in arguments))

    def chunk(self, arguments: tuple[Tensor, ...], seed: int) -> Chunk:
        with seeded(self.simulator, seed):
            return self._many(arguments) if self.batched else self._one_by_one(arguments)

    def _one_by_one(self, arguments: tuple[Tensor, ...]) -> Chunk:
        rows: list[np.ndarray | None] = []
        errors: dict[int, str] = {}
        cause: BaseException | None = None
        for i, single in enumerate(zip(*arguments, strict=True)):
            try:
                result = self.call(single)
            except Exception as error:
                errors[i], cause = words_of(error), error
                rows.append(None)
                if self.stop:
                    break
            else:
                rows += rows_of(result, 1, False)
        return Chunk(rows, errors, cause)

    def _many(self, arguments: tuple[Tensor, ...]) -> Chunk:
        """Where a call fails, halves of it are called until the rows that fail are alone."""
        count = len(arguments[0])
        try:
            result = self.call(arguments)
        except Exception as error:
            if self.stop or count == 1:
                return Chunk([None] * count, dict.fromkeys(range(count), words_of(error)), error)
            middle = count // 2
            first, second = (
                self._many(tuple(a[part] for a in arguments)) for part in (slice(middle), slice(middle, None))
            )
            moved = {middle + row: text for row, text in second.errors.items()}
            return Chunk([*first.rows, *second.rows], {**first.errors, **moved})
        return Chunk([*rows_of(result, count, True)])


def words_of(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({where[-1].filename}, line {where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {error}{place}"


def serial(manner: Manner, jobs: dict[int, Any]) -> Iterator[tuple[int, Chunk]]:
    for start, job in jobs.items():
        yield start, manner.chunk(*job)


def parallel(manner: Manner, jobs: dict[int, Any], workers: int) -> Iterator[tuple[int, Chunk]]:
    # A forked process has the simulator already; elsewhere it is pickled.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(workers, context, _adopt, (manner,))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            futures = {pool.submit(_work, *job): start for start, job in jobs.items()}
        pending = set(futures)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield futures[future], future.result()
    except BrokenProcessPool as error:
        raise SimulationError(
            f"a process of the simulator ended without a word (out of memory, or a crash in compiled code) while "
            f"{len(pending) + len(done)} chunks were unfinished, the first begins with theta = "
            f"{jobs[min(futures[f] for f in pending | done)][0][0][0].tolist()}; try workers=1, or fewer rows per "
            "chunk (chunk_size), with a checkpoint_dir to keep what is finished.",
            jobs[min(futures[f] for f in pending | done)][0][0][0],
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_adopted: list[Manner] = []


def _adopt(manner: Manner) -> None:
    torch.set_num_threads(1)  # threads of a forked process can wait for each other forever
    _adopted[:] = [manner]


def _work(arguments: tuple[Tensor, ...], seed: int) -> Chunk:
    return replace(_adopted[0].chunk(arguments, seed), cause=None)  # not every exception can be sent


class Store:
    """Finished chunks on disk, for this simulator, these parameters, this seed and this size of chunks."""

    def __init__(
        self, folder: Path | None, manner: Manner, arguments: tuple[Tensor, ...], seed: int, size: int
    ) -> None:
        self.folder = folder
        if folder is not None:
            digests = [files.digest(a.contiguous().numpy().tobytes()) for a in arguments]
            self.name = [*digests, seed, size, code_digest(manner.simulator)]

    def write(self, start: int, chunk: Chunk) -> None:
        if self.folder is None:
            return
        header = {"simulation": self.name, "errors": {str(row): text for row, text in chunk.errors.items()}}
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
        if header["simulation"] != self.name:
            return None
        errors = {int(row): text for row, text in header["errors"].items()}
        whole = tensors.get("x")
        rows = [
            None if i in errors else (tensors[str(i)] if whole is None else whole[i])
            for i in range(header["rows"])
        ]
        return Chunk(rows, errors)

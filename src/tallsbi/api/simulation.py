"""Calling a simulator: in batches or one parameter vector at a time, in chunks, in several processes.

A chunk is simulated with random streams of its own, named by the seed and the place of the chunk: the result is the
same for any number of processes and after an interruption. A simulation that raises an exception is a row of NaN here;
`tallsbi.api.pairs` says what becomes of such rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api.chunks import (
    Chunk,
    Manner,
    SimulationError,
    Simulator,
    Stack,
    Store,
    parallel,
    serial,
    stacked,
)
from tallsbi.api.drawing import bar
from tallsbi.api.manners import manner_of
from tallsbi.random import integer_seed

_CHUNK_BATCHED, _CHUNK_SINGLE = 10_000, 100  # rows, for simulators that take many parameters at once or one


class AllFailed(SimulationError):
    """Not one simulation of a call succeeded."""


@dataclass(frozen=True, kw_only=True)
class Calling:
    """How a simulator is called, as `fit` was told; `stop` at the first exception; `folder`: of finished chunks."""

    batched: bool | None = None
    chunk_size: int | None = None
    workers: int = 1
    stop: bool = True
    folder: Path | None = None
    progress: bool | None = None


def simulate(
    simulator: Simulator,
    theta: Float[Tensor, "N m"],
    seed: int,
    condition: Float[Tensor, "N c"] | None = None,
    how: Calling | None = None,
) -> Stack:
    """One observation per row in float32, NaN where the simulator failed."""
    how = Calling() if how is None else how
    arguments = (theta,) if condition is None else (theta, condition)
    manner = manner_of(simulator, arguments, how.batched, how.stop, seed)
    size = how.chunk_size or (_CHUNK_BATCHED if manner.batched else _CHUNK_SINGLE)
    starts = range(0, len(theta), size)
    jobs = {
        start: (
            tuple(a[start : start + size] for a in arguments),
            integer_seed(seed, "chunk", start) if start else seed,
        )
        for start in starts
    }
    store = Store(how.folder, manner, arguments, seed, size)
    chunks: dict[int, Chunk] = {start: chunk for start in starts if (chunk := store.read(start)) is not None}
    unfinished = {start: job for start, job in jobs.items() if start not in chunks}
    in_one_process = how.workers == 1 or len(unfinished) < 2
    new_chunks = serial(manner, unfinished) if in_one_process else parallel(manner, unfinished, how.workers)
    show = bar("simulating", how.progress, total=len(unfinished))
    for start, chunk in show(new_chunks):
        chunks[start] = chunk
        if how.stop and chunk.errors:
            raise _failure(manner, start, chunk, chunks, theta, how) from chunk.cause
        store.write(start, chunk)
    errors = {start + row: text for start in starts for row, text in chunks[start].errors.items()}
    if len(errors) == len(theta):
        raise AllFailed(
            f"the simulator failed for all {len(theta)} parameters; the first are theta = {theta[0].tolist()}: "
            f"{errors[0]}",
            theta[0],
        )
    return stacked([row for start in starts for row in chunks[start].rows])


def _failure(
    manner: Manner, start: int, chunk: Chunk, chunks: dict[int, Chunk], theta: Tensor, how: Calling
) -> SimulationError:
    row, error = min(chunk.errors.items())
    finished = [
        (theta[s + i], observation)
        for s in sorted(chunks)
        for i, observation in enumerate(chunks[s].rows)
        if observation is not None
    ]
    pairs = None
    if finished:
        pairs = torch.stack([parameters for parameters, _ in finished]), stacked([x for _, x in finished]).x
    which = f"row {start + row}, theta = {theta[start + row].tolist()}"
    if manner.batched and len(chunk.rows) > 1:
        which = f"one of {len(chunk.rows)} rows, the first is {which}"
    where = f" and in {how.folder}, from where the same call goes on" if how.folder is not None else ""
    return SimulationError(
        f"the simulator failed for {which}: {error}. What was simulated before, {len(finished)} pairs (theta, x), is "
        f"kept as `simulations` of this error{where}. Mend the simulator, or go on past failures with "
        "on_failure='drop' or 'flag'.",
        theta[start + row],
        pairs,
    )

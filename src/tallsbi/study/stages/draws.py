"""Draws of many tall posteriors as one dataset, for exact scores and for networks alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm
from tallsbi.random import Name, torch_generator
from tallsbi.samplers.base import Samples
from tallsbi.study.stages.health import HEALTH

if TYPE_CHECKING:
    import xarray as xr

Run = TypeVar("Run")
Stream = Callable[[int, int], tuple[Name, ...]]
"""The name of the random stream of (n, number of the dataset)."""


@runtime_checkable
class Engine(Protocol):
    """What solves tall posteriors: a network with its prior, or an exact score."""

    def sample(
        self, algorithm: Algorithm, x: Tensor, samples: int, generators: list[torch.Generator]
    ) -> Samples: ...


@runtime_checkable
class ClippingEngine(Protocol):
    """What solves tall posteriors without and with clipping in one pass."""

    def sample_both(
        self, algorithm: Algorithm, x: Tensor, samples: int, generators: list[torch.Generator]
    ) -> tuple[Samples, Samples]: ...


@dataclass(frozen=True, eq=False)
class Datasets:
    """Observations of B datasets and their numbers, which name their random streams; `axis` names their dimension."""

    x: Float[Tensor, "B N d"]
    numbers: Sequence[int]
    axis: str = "set"

    @classmethod
    def of(cls, observations: xr.Dataset) -> Datasets:
        return cls(torch.from_numpy(observations["x"].values), observations["set"].values.tolist())

    def each_alone(self) -> Datasets:
        """Every observation of the only dataset as a dataset of its own."""
        if len(self.x) != 1:
            raise ValueError(f"{len(self.x)} datasets: only the observations of one can be taken one by one.")
        return Datasets(self.x[0][:, None], range(self.x.shape[1]), self.axis)

    def block(self, rows: slice, n: int) -> Float[Tensor, "b n d"]:
        if n > self.x.shape[1]:
            raise ValueError(
                f"n = {n}: there are {self.x.shape[1]} observations per {self.axis}; lower n, or raise the number of "
                "observations in the configuration (sbibm.observations)."
            )
        return self.x[rows, :n]


def tall_draws(
    engine: Engine,
    algorithm: Algorithm,
    datasets: Datasets,
    n_obs: Sequence[int],
    samples: int,
    seed: int,
    stream: Stream,
    *,
    device: str = "cpu",
    sharing: int | None = None,
    progress: Callable = iter,
) -> xr.Dataset:
    """Draws [n, set, sample] of every posterior given the first n observations, with the health of each run.

    All datasets are solved in one call per n, each with a stream of its own; with `sharing`, so many per call, all with
    the stream of the first.
    """
    drawn = _solved(
        engine.sample, algorithm, datasets, n_obs, samples, seed, stream, device, sharing, progress
    )
    return _packed(drawn, datasets, algorithm)


def plain_and_clipped_draws(
    engine: ClippingEngine,
    algorithm: Algorithm,
    datasets: Datasets,
    n_obs: Sequence[int],
    samples: int,
    seed: int,
    stream: Stream,
    *,
    device: str = "cpu",
    sharing: int | None = None,
    progress: Callable = iter,
) -> tuple[xr.Dataset, xr.Dataset]:
    """The same of a clipped algorithm without and with its clipping, from the same streams."""
    drawn = _solved(
        engine.sample_both, algorithm, datasets, n_obs, samples, seed, stream, device, sharing, progress
    )
    plain = {n: [pair[0] for pair in pairs] for n, pairs in drawn.items()}
    clipped = {n: [pair[1] for pair in pairs] for n, pairs in drawn.items()}
    return _packed(plain, datasets, algorithm), _packed(clipped, datasets, algorithm)


def _solved(
    solve: Callable[..., Run],
    algorithm: Algorithm,
    datasets: Datasets,
    n_obs: Sequence[int],
    samples: int,
    seed: int,
    stream: Stream,
    device: str,
    sharing: int | None,
    progress: Callable,
) -> dict[int, list[Run]]:
    """What the calls of `solve` return, in order, by n."""
    size = sharing or len(datasets.x)
    blocks = [(n, slice(at, at + size)) for n in n_obs for at in range(0, len(datasets.x), size)]
    runs: dict[int, list[Run]] = {int(n): [] for n in n_obs}
    for n, rows in progress(blocks):
        numbers = datasets.numbers[rows]
        names = [stream(int(n), int(number)) for number in (numbers[:1] if sharing else numbers)]
        generators = [torch_generator(seed, *name, device=device) for name in names]
        runs[int(n)].append(solve(algorithm, datasets.block(rows, n), samples, generators))
    return runs


def _packed(runs: dict[int, list[Samples]], datasets: Datasets, algorithm: Algorithm) -> xr.Dataset:
    import xarray as xr

    def stacked(part: Callable[[Samples], Tensor]) -> np.ndarray:
        return np.stack([torch.cat([part(run) for run in blocks]).cpu().numpy() for blocks in runs.values()])

    cell = ("n", datasets.axis)
    return xr.Dataset(
        {
            "theta": ((*cell, "sample", "parameter"), stacked(lambda run: run.theta)),
            **{key: (cell, stacked(lambda run, key=key: getattr(run.health, key))) for key in HEALTH},
        },
        coords={"n": list(runs), datasets.axis: list(datasets.numbers)},
        attrs={"steps": algorithm.steps, "score_evaluations": algorithm.score_evaluations},
    )

"""What accuracy costs with a trained network: time steps, time and memory (beyond the paper).

`steps`: the sW to the reference against the number T of time steps and against time, for every method.

`many`: the error as the observations grow to a thousand. The posterior narrows with n, so it is relative: the sW over
the reference's own spread, the root of the mean variance of its coordinates. Observations and references are those of
this study alone (`stages.many`).

Times and memory are those of a run whose covariances are estimated from as many draws as the posterior gets, the
paper's ratio. Where the configuration has another number of draws for them, the distance is that of a second run with
this number: a covariance of few draws is an error of its own. Times are measured by the protocol of `stages.protocol`;
the cells of `many` run in order, for the sake of the memory. A run that is lost is a result: it has a time, a share of
lost draws, and no distance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float

from tallsbi.algorithms.base import Algorithm
from tallsbi.metrics.sliced import baseline, sliced_wasserstein
from tallsbi.metrics.validity import is_lost, lost_share, usable_draws
from tallsbi.random import Name, integer_seed, numpy_generator, torch_generator
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.storage.files import read_dataset
from tallsbi.study.columns.sbibm import MANY, STEPS
from tallsbi.study.settings.time import TimeSettings
from tallsbi.study.stages.protocol import peak_growth, timed, turns
from tallsbi.study.stages.sample import network_engine
from tallsbi.study.tasks import simulator
from tallsbi.study.tasks.base import TrainingProblem

if TYPE_CHECKING:
    import xarray as xr

WARM_UP_STEPS = 2


def steps_table(study: CostStudy, progress: Callable = iter) -> pd.DataFrame:
    """A row per n, set, method and T of the grid, with the sW to the reference and the seconds it took.

    `sw_self`: the sW of the reference to itself, which no sampler can be expected to undercut (NaN if it has
    fewer than twice as many draws).
    """
    settings = study.settings

    def run(n: int, index: int, method: str, steps: int) -> dict[str, Any]:
        algorithm = settings.methods.algorithm(method, steps=steps)
        timed_algorithm = study.timed(method, steps)

        def solve(chosen: Algorithm) -> Float[np.ndarray, "S m"]:
            return study.solve(chosen, n, index, study.generator(method, steps, n, index))

        theta, seconds = timed(partial(solve, timed_algorithm))
        theta = theta if timed_algorithm == algorithm else solve(algorithm)
        return {
            **study.row(n, index, method, algorithm, theta, seconds),
            "sw": study.distance(theta, n, index),
            "sw_self": study.self_distances[n, index],
            "score_evaluations": algorithm.score_evaluations,
        }

    for n, method in product(settings.n_obs, settings.methods.options):
        run(n, study.sets[0], method, min(settings.grid))
    cells = list(product(settings.n_obs, study.sets, settings.methods.options, settings.grid))
    order = numpy_generator(settings.seed, *study.stream, "order")
    rows = {k: run(*cells[k]) for _, k in progress(turns(cells, 1, order))}
    return STEPS.frame(rows[k] for k in range(len(cells)))


def many_table(study: CostStudy, progress: Callable = iter) -> pd.DataFrame:
    """A row per n, set and method: `error` (relative), `seconds`, `memory` (MiB).

    `error_self` is the relative error of reference draws. A method takes `max_steps` time steps at most.
    """
    settings = study.settings

    def steps(method: str) -> int:
        return min(settings.methods.options[method]["steps"], settings.max_steps)

    def run(n: int, index: int, method: str) -> dict[str, Any]:
        algorithm = settings.methods.algorithm(method, steps=steps(method))
        timed_algorithm, spread = study.timed(method, steps(method)), study.spread(n, index)

        def solve(chosen: Algorithm) -> Float[np.ndarray, "S m"]:
            return study.solve(chosen, n, index, study.generator(method, n, index))

        (theta, seconds), memory = peak_growth(partial(timed, partial(solve, timed_algorithm)))
        theta = theta if timed_algorithm == algorithm else solve(algorithm)
        return {
            **study.row(n, index, method, algorithm, theta, seconds),
            "spread": spread,
            "error": study.distance(theta, n, index) / spread,
            "error_self": study.self_distances[n, index] / spread,
            "memory": memory,
        }

    # What the libraries allocate once must not count as memory of the first method or n.
    for method in settings.methods.options:
        n = sorted(settings.n_obs)[:2][-1]
        short_run = settings.methods.algorithm(method, steps=min(steps(method), WARM_UP_STEPS))
        study.solve(short_run, n, study.sets[0], study.generator("warm-up"))
    cells = list(product(settings.n_obs, study.sets, settings.methods.options))
    return MANY.frame(run(*cell) for cell in progress(cells))


def read_references(paths: str | Sequence[str], n_obs: Sequence[int]) -> dict[int, xr.Dataset]:
    """References by n: from one file per n, or from a single file with all of them."""
    if isinstance(paths, str):
        references = read_dataset(paths)
        return {n: references.sel(n=n) for n in n_obs}
    return {n: read_dataset(path) for n, path in zip(n_obs, paths, strict=True)}


@dataclass(frozen=True, eq=False)
class CostStudy:
    """A network, the datasets to solve and their references by n."""

    settings: TimeSettings
    saved: SavedNetwork
    observations: xr.Dataset
    references: Mapping[int, xr.Dataset]

    def __post_init__(self) -> None:
        settings, sizes = self.settings, self.observations.sizes
        if settings.sets > sizes["set"]:
            raise ValueError(
                f"sbibm.{self.name}.sets = {settings.sets}: there are observations of {sizes['set']} parameter sets; "
                "lower it, or raise sbibm.sets."
            )
        if max(settings.n_obs) > sizes["observation"]:
            raise ValueError(
                f"sbibm.{self.name}.n_obs = {list(settings.n_obs)}: there are {sizes['observation']} observations per "
                "set; lower it, or raise sbibm.observations."
            )

    @property
    def name(self) -> str:
        """As in the configuration and in the names of random streams."""
        return "many" if self.settings.grid is None else "steps"

    @cached_property
    def sets(self) -> list[int]:
        return self.observations["set"].values[: self.settings.sets].tolist()

    @cached_property
    def x(self) -> Float[np.ndarray, "B N d"]:
        return self.observations["x"].values

    @cached_property
    def stream(self) -> tuple[Name, ...]:
        return "sbibm", self.settings.problem.name, self.name

    def generator(self, *names: Name) -> torch.Generator:
        settings = self.settings
        return torch_generator(settings.seed, *self.stream, settings.n_train, *names, device=settings.device)

    @cached_property
    def problem(self) -> TrainingProblem:
        return simulator(self.settings.problem)

    @cached_property
    def engine(self) -> Any:
        return network_engine(self.saved, self.problem, self.settings)

    def timed(self, method: str, steps: int) -> Algorithm:
        """The algorithm whose time is taken."""
        return self.settings.methods.timed(method, self.settings.samples, self.problem.dim_theta, steps=steps)

    def solve(
        self, algorithm: Algorithm, n: int, index: int, generator: torch.Generator
    ) -> Float[np.ndarray, "S m"]:
        """Draws of the posterior of one dataset."""
        x = torch.from_numpy(self.x[self.sets.index(index)][None, :n])
        return self.engine.sample(algorithm, x, self.settings.samples, [generator]).theta[0].numpy()

    def truth(self, n: int, index: int) -> Float[np.ndarray, "R m"]:
        return self.references[n]["theta"].sel(set=index).values.astype(np.float64)

    def spread(self, n: int, index: int) -> float:
        return float(np.sqrt(self.truth(n, index).var(0, ddof=1).mean()))

    def distance(self, theta: Float[np.ndarray, "S m"], n: int, index: int) -> float:
        """sW of the draws that are not lost to as many reference draws; NaN for a run that is lost.

        The directions are the same for all methods, so that differences are not due to them.
        """
        kept = self.usable(theta)
        if is_lost(lost_share(kept)):
            return np.nan
        theta, draws = theta[kept], self.truth(n, index)
        size = min(len(theta), len(draws))
        directions = integer_seed(self.settings.seed, *self.stream, n, index, "directions") % 2**32
        return sliced_wasserstein(theta[:size], draws[:size], self.settings.projections, directions)[0]

    def usable(self, theta: Float[np.ndarray, "S m"]) -> Bool[np.ndarray, "S"]:
        return usable_draws(theta, *(part[0].numpy() for part in self.problem.prior.moments()))

    @cached_property
    def self_distances(self) -> dict[tuple[int, int], float]:
        """sW of two disjoint halves of the reference, by (n, set): what an exact sampler has. NaN if too small."""
        settings, distances = self.settings, {}
        for n, index in product(settings.n_obs, self.sets):
            draws, rng = (
                self.truth(n, index),
                numpy_generator(settings.seed, *self.stream, n, index, "self-distance"),
            )
            enough = len(draws) >= 2 * settings.samples
            sizes = settings.samples, settings.self_distances, settings.projections
            distances[n, index] = baseline(draws, *sizes, rng)[0] if enough else np.nan
        return distances

    def row(
        self,
        n: int,
        index: int,
        method: str,
        algorithm: Algorithm,
        theta: Float[np.ndarray, "S m"],
        seconds: float,
    ) -> dict[str, Any]:
        """The columns that both studies have."""
        return {
            "task": self.settings.problem.name,
            "n_train": self.settings.n_train,
            "n": n,
            "set": index,
            "method": method,
            "steps": algorithm.steps,
            "samples": self.settings.samples,
            "seconds": seconds,
            "lost_share": lost_share(self.usable(theta)),
            "reference_passed": bool(self.references[n]["passed"].sel(set=index).item()),
        }

"""What is asked of a reference posterior, and what is known about the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.random import integer_seed, numpy_generator
from tallsbi.study.tasks.base import Task

SETTINGS = ("chains", "warmup", "draws", "max_rhat", "min_ess", "retries", "target_accept")


@dataclass(frozen=True)
class Request:
    """`samples` draws given the first n of the N observations of each dataset b = 0, 1, ...

    Random streams are named by task, n and the number of the set, `first_set` + b.
    """

    task: Task
    x: Float[np.ndarray, "B N d"]
    n: int
    samples: int
    settings: Mapping[str, Any]
    seed: int
    first_set: int
    progress: Callable[..., Iterable[Any]]

    def __post_init__(self) -> None:
        missing = [key for key in SETTINGS if key not in self.settings]
        if missing:
            raise ValueError(
                f"reference settings: {', '.join(missing)} missing; give all of {', '.join(SETTINGS)}."
            )
        if not 1 <= self.n <= self.x.shape[1]:
            raise ValueError(
                f"n = {self.n} observations asked for, x holds {self.x.shape[1]}: simulate more, or lower n."
            )

    def rng(self, b: int, *use: str) -> np.random.Generator:
        return numpy_generator(self.seed, *self._stream(b), *use)

    def integer(self, b: int, *use: str | int) -> int:
        return integer_seed(self.seed, *self._stream(b), *use)

    def each(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items, with a report of how many are done."""
        return self.progress(items, label=f"{self.task.name}, n = {self.n}")

    def _stream(self, b: int) -> tuple[str | int, ...]:
        return "reference", self.task.name, self.n, self.first_set + b


@dataclass(frozen=True)
class Record:
    """The certificate of one reference posterior; NaN where a number does not apply to the method."""

    method: str
    passed: bool
    rhat: float = np.nan
    ess_bulk: float = np.nan
    ess_tail: float = np.nan
    ess_kept: float = np.nan
    """Bulk effective size of the kept draws."""
    divergences: int = 0
    divergent_share: float = 0.0
    acceptance: float = np.nan
    chains: int = 0
    iterations: int = 0
    """Of each chain, warm-up included, in the last attempt."""
    attempts: int = 1
    cells: float = np.nan
    """Effective number of grid cells under the posterior."""
    cells_per_sd: float = np.nan
    border: float = np.nan
    """Mass at the border of the grid."""
    disagreement: float = np.nan
    """Total variation between the last two resolutions of the grid."""
    missed: float = np.nan
    """Share of the posterior that the draws cannot reach, as far as it can be seen."""


Draws = tuple[np.ndarray, Record]
"""Draws [S, m] in the parameter's own space of one dataset, and their certificate."""

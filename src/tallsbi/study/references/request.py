"""The request for reference draws, and the answer to it: draws and a certificate per dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from tallsbi.random import integer_seed, numpy_generator
from tallsbi.study.references.certificate import Certificate
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks.base import Task


@dataclass(frozen=True)
class Request:
    """A request for `samples` draws given the first n of the N observations of each dataset b = 0, 1, ...

    Random streams are named by task, n and the number of the set, `first_set` + b.
    """

    task: Task
    x: Float[np.ndarray, "B N d"]
    n: int
    samples: int
    settings: ChainSettings
    seed: int
    first_set: int
    progress: Callable[..., Iterable[Any]]

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.x.shape[1]:
            raise ValueError(
                f"n = {self.n} observations asked for, x holds {self.x.shape[1]}: simulate more, or lower n."
            )

    def rng(self, b: int, *use: str) -> np.random.Generator:
        return numpy_generator(self.seed, *self._stream(b), *use)

    def integer(self, b: int, *use: str | int) -> int:
        return integer_seed(self.seed, *self._stream(b), *use)

    def with_progress(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items, with a report of how many are done."""
        return self.progress(items, label=f"{self.task.name}, n = {self.n}")

    def _stream(self, b: int) -> tuple[str | int, ...]:
        return "reference", self.task.name, self.n, self.first_set + b


Draws = tuple[Float[np.ndarray, "S m"], Certificate]
"""Draws of one dataset in the parameter's own space, and their certificate."""

"""The cells of the benchmark: which runs (a method, plain or clipped) are sampled on which task and N_train.

Tables, figures and claims say what they need, `sbibm.cells` of the configuration what is wanted beside it. The study
computes these cells and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from tallsbi.study.settings import exclusion

SAMPLES, OTHER_BOUNDS = "samples", "other_bounds"
ALL, LARGEST = "all", "largest"


class Cell(NamedTuple):
    """One run on one task and N_train; `variant` is the folder of its samples."""

    task: str
    n_train: int
    run: str
    variant: str = SAMPLES


Cells = frozenset[Cell]


def product_of(
    tasks: Iterable[str], n_train: Iterable[int], runs: Iterable[str], variant: str = SAMPLES
) -> Cells:
    return frozenset(Cell(*cell, variant) for cell in product(tasks, n_train, runs))


def exclusion_cells(tasks: Iterable[str], n_train: Iterable[int], runs: Sequence[str]) -> Cells:
    """The cells by which the published rule excludes parameter sets from the averages over a task."""
    sizes = [size for size in n_train if size > exclusion.ABOVE_N_TRAIN]
    return product_of(tasks, sizes, [run for run in runs if run == exclusion.METHOD])


def parse(text: str, n_train: Sequence[int]) -> Cells:
    """A cell as the configuration writes it: task/run, at every N_train, or task/run/N_train."""
    task, run, *size = text.split("/")
    return product_of([task], map(int, size) if size else n_train, [run])

"""The settings that tables and figures need beside their data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tallsbi.study.settings.base import Settings


@dataclass(frozen=True)
class ToyFigures(Settings):
    """The prior of the Gaussian problem, the column of distances that is shown, and the dimension m."""

    prior: str
    metric: str
    dim: int

    def __post_init__(self) -> None:
        self.require("prior", self.prior in ("wide", "standard"), "wide or standard")


@dataclass(frozen=True)
class Pedagogical(Settings):
    """The true parameter of the two-dimensional illustration."""

    theta: tuple[float, float]


@dataclass(frozen=True)
class TaskRows(Settings):
    """The tasks that a figure shows, how it names them, and whether parameter sets are excluded: by the published rule
    or, if `listed`, by the published lists. `runs`: those that it shows, if there is a choice."""

    tasks: tuple[str, ...]
    labels: dict[str, str]
    exclude: bool = False
    listed: bool = False
    runs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unnamed = [task for task in self.tasks if task not in self.labels]
        self.require("labels", not unnamed, f"a name for each task, also for {', '.join(unnamed)}")

    def present(self, tasks: Iterable[str], what: str) -> list[str]:
        """The tasks that are shown, in order, as far as they are among those of the data."""
        present = [task for task in self.tasks if task in set(tasks)]
        if not present:
            raise ValueError(f"tasks = {list(self.tasks)}: the data have no {what} for any of them")
        return present


@dataclass(frozen=True)
class JrnmmFigures(Settings):
    """The parameters of the setting in order, with true value, ends of the prior and name; draws per posterior."""

    theta: dict[str, float]
    bounds: dict[str, tuple[float, float]]
    labels: dict[str, str]
    samples: int

    def __post_init__(self) -> None:
        for name in ("bounds", "labels"):
            values = getattr(self, name)
            self.require(
                name, set(values) == set(self.theta), f"given for {', '.join(self.theta)}, no more or less"
            )

    @property
    def dim(self) -> int:
        """The number of free parameters."""
        return len(self.theta)


@dataclass(frozen=True)
class TableCell(Settings):
    """The cell of the time-accuracy tables: dimension, observations, noise on the scores."""

    dim: int
    n_obs: int
    noise: float


@dataclass(frozen=True)
class ToyTables(Settings):
    """One problem at its cell; `repeats` and `timing_samples` are those of the time measurement."""

    problem: str
    cell: TableCell
    metric: str
    samples: int
    repeats: int
    timing_samples: int


@dataclass(frozen=True)
class SbibmTables(Settings):
    """The tasks in order, with their names, and the n that the tables show as far as there are data; `listed`: the
    published lists say which sets are left out."""

    tasks: tuple[str, ...]
    extra_tasks: tuple[str, ...]
    table_n_obs: tuple[int, ...]
    labels: dict[str, str]
    listed: bool = False


@dataclass(frozen=True)
class PrintedTables(Settings):
    """What the tables that the paper prints need."""

    gaussian: ToyTables
    mixture: ToyTables
    sbibm: SbibmTables


@dataclass(frozen=True)
class RunName(Settings):
    """The name of the run."""

    run: str


@dataclass(frozen=True)
class ClaimsTable(Settings):
    """What the ledger must know of the run: its switches, and the true parameter and prior of the JRNMM part."""

    claims: str
    other_run: str
    fidelity: dict[str, Any]
    toy_metric: str
    uniform_tasks: tuple[str, ...]
    theta: dict[str, float]
    bounds: dict[str, tuple[float, float]]

"""Settings of the studies that measure time: accuracy against steps, and many observations."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.sample import Methods


@dataclass(frozen=True)
class TimeSettings(Settings):
    """`samples` draws of the first `sets` posteriors for every n of `n_obs` with all methods, one dataset at a time.

    `grid`: the numbers of time steps T, or None for that of each method, but `max_steps` at most. Distances have
    `projections` directions; the distance of a reference to itself is averaged over `self_distances` pairs.
    """

    seed: int
    device: str
    dtype: str
    problem: ProblemSettings
    n_train: int
    methods: Methods
    bounds_factor: float
    sets: int
    n_obs: tuple[int, ...]
    samples: int
    projections: int
    self_distances: int
    grid: tuple[int, ...] | None = None
    max_steps: int | None = None
    precision: str = "float32"

    def __post_init__(self) -> None:
        self.require("sets", self.sets >= 1, "at least 1")
        self.require("n_obs", len(self.n_obs) > 0 and min(self.n_obs) >= 1, "numbers of at least 1")
        self.require("grid", self.grid is None or min(self.grid) >= 1, "numbers of at least 1, or None")


@dataclass(frozen=True)
class ManySettings(Settings):
    """Observations with references of their own: of the study of many observations, of refinements, and those that are
    published. `samples` for every n of `n_obs` and each of `sets` parameters; `chains`: see `ReferenceSettings`."""

    seed: int
    problem: ProblemSettings
    sets: int
    n_obs: tuple[int, ...]
    samples: int
    chains: ChainSettings

    def __post_init__(self) -> None:
        self.require("sets", self.sets >= 1, "at least 1")
        self.require("n_obs", len(self.n_obs) > 0 and min(self.n_obs) >= 1, "numbers of at least 1")
        self.require("samples", self.samples >= 1, "at least 1")

"""Settings of the study of refinement."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.sample import Methods


@dataclass(frozen=True)
class RefineSettings(Settings):
    """Posteriors of the first `sets` parameter sets at every n of `n_obs`, refined with `simulations` simulations each.

    `methods` has one method, which gives the posterior before. `samples` draws are compared with the reference;
    `projections`, `self_distances`: see `TimeSettings`.
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
    simulations: int
    projections: int
    self_distances: int
    precision: str = "float32"

    def __post_init__(self) -> None:
        self.require("sets", self.sets >= 1, "at least 1")
        self.require("n_obs", len(self.n_obs) > 0 and min(self.n_obs) >= 1, "numbers of at least 1")
        self.require("simulations", self.simulations >= 1000, "at least 1000, the least that refine takes")
        self.require("methods", len(self.methods.options) == 1, "the settings of one method")

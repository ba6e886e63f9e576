"""Settings of the study of calibration against the number of observations."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.sample import Methods


@dataclass(frozen=True)
class HorizonSettings(Settings):
    """`samples` draws of one method for each of `datasets` parameters of the prior, at every n of `n_obs`."""

    seed: int
    device: str
    dtype: str
    problem: ProblemSettings
    n_train: int
    methods: Methods
    bounds_factor: float
    datasets: int
    n_obs: tuple[int, ...]
    samples: int
    precision: str = "float32"

    def __post_init__(self) -> None:
        self.require("datasets", self.datasets >= 3, "at least 3")
        self.require("n_obs", len(self.n_obs) > 0 and min(self.n_obs) >= 1, "numbers of at least 1")
        self.require("n_obs", list(self.n_obs) == sorted(self.n_obs), "in growing order")

"""Settings of the reference posteriors that are published for use elsewhere."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.problem import ProblemSettings


@dataclass(frozen=True)
class PosteriorSettings(Settings):
    """`samples` draws given the first n of `observations` of each of `sets` parameters; `chains`: see
    `ReferenceSettings`."""

    seed: int
    problem: ProblemSettings
    sets: int
    observations: int
    n_obs: tuple[int, ...]
    samples: int
    chains: ChainSettings

    def __post_init__(self) -> None:
        self.require("sets", self.sets >= 1, "at least 1")
        self.require("n_obs", len(self.n_obs) > 0 and min(self.n_obs) >= 1, "numbers of at least 1")
        self.require(
            "n_obs", max(self.n_obs) <= self.observations, f"at most observations = {self.observations}"
        )
        self.require("samples", self.samples >= 1, "at least 1")

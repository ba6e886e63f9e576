"""Settings of the reference posteriors that are published for use elsewhere."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.problem import ProblemSettings


@dataclass(frozen=True)
class PosteriorSettings(Settings):
    """`samples` draws for every n of `n_obs` and each of `sets` parameters; `chains`: see `ReferenceSettings`."""

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

"""Settings of simulations to train on and of observations."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.problem import ProblemSettings


@dataclass(frozen=True)
class SimulateSettings(Settings):
    """`count` simulations; `members`: observations of each parameter, None for the ordinary training set."""

    seed: int
    problem: ProblemSettings
    count: int
    members: int | None = None

    def __post_init__(self) -> None:
        self.require("count", self.count >= 1, "at least 1")
        self.require("members", self.members is None or self.members >= 1, "at least 1, or None")


@dataclass(frozen=True)
class ObserveSettings(Settings):
    """`count` observations of each of `sets` parameters: the true ones, or for `calibration` draws of the prior."""

    seed: int
    problem: ProblemSettings
    sets: int
    count: int
    calibration: bool = False

    def __post_init__(self) -> None:
        self.require("sets", self.sets >= 1, "at least 1")
        self.require("count", self.count >= 1, "at least 1")

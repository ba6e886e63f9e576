"""Settings of the training of a network."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.training.settings import TrainingSettings


@dataclass(frozen=True)
class TrainSettings(Settings):
    """A network on the first `n_train` simulations."""

    seed: int
    device: str
    problem: ProblemSettings
    n_train: int
    training: TrainingSettings

    def __post_init__(self) -> None:
        self.require("n_train", self.n_train >= 1, "at least 1")


@dataclass(frozen=True)
class TrainGroupsSettings(TrainSettings):
    """The same for a network on groups of at most `n_max` observations, encoded by `encoder`."""

    encoder: str
    n_max: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("n_max", self.n_max >= 1, "at least 1")

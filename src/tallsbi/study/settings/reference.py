"""Settings of the reference posteriors of sbibm tasks."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.problem import ProblemSettings


@dataclass(frozen=True)
class ReferenceSettings(Settings):
    """`samples` draws for every n of `n_obs`; `chains` where no exact method exists."""

    seed: int
    problem: ProblemSettings
    samples: int
    n_obs: tuple[int, ...]
    chains: ChainSettings

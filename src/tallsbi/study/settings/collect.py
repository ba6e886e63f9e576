"""Settings of the tables over all problems."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.select import Candidate


@dataclass(frozen=True)
class Training(Settings):
    """One of the trainings whose loss curves are shown."""

    task: str
    n_train: int
    candidate: Candidate


@dataclass(frozen=True)
class CollectSettings(Settings):
    """`collector`: the name of the collector. Loss curves need `trainings`, partial factorisation `methods` and `n`."""

    collector: str
    trainings: tuple[Training, ...] = ()
    methods: tuple[str, ...] = ()
    n: int | None = None

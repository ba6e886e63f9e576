"""Settings of the numbers for the claims about exact mathematics."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.sample import Methods
from tallsbi.study.settings.toy import ToyModel


@dataclass(frozen=True)
class TheorySettings(Settings):
    """The toy model and the methods; the tasks whose posterior modes are counted, for `sets` sets at n observations."""

    seed: int
    model: ToyModel
    methods: Methods
    tasks: tuple[str, ...]
    sets: int
    n: int

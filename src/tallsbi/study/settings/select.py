"""Settings of the choice among networks that were trained on the same data."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings


@dataclass(frozen=True)
class Candidate(Settings):
    """What distinguishes the networks that are trained on the same data."""

    learning_rate: float
    batch_size: int

    @property
    def folder(self) -> str:
        return f"bs~{self.batch_size}-lr~{self.learning_rate:g}"


RULES = ("published", "stated")


@dataclass(frozen=True)
class SelectSettings(Settings):
    """By which rule to choose among `candidates`; `published` is the choice of the published runs."""

    name: str
    rule: str
    published: Candidate
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        self.require("rule", self.rule in RULES, f"one of {', '.join(RULES)}")
        self.require("candidates", len(self.candidates) >= 1, "at least one network")

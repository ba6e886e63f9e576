"""Settings of draws with sizes of their own for some n and tasks."""

from dataclasses import dataclass, field

from tallsbi.study.settings.sample import SampleSettings


@dataclass(frozen=True)
class SizedSampleSettings(SampleSettings):
    """`samples_by_n`: where an n has another number of draws. `sets`: the first so many of the parameter sets; without
    it, all."""

    samples_by_n: dict[str, int] = field(default_factory=dict)
    sets: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("samples_by_n", min(self.samples_by_n.values(), default=1) >= 1, "at least 1 each")

    def samples_at(self, n: int) -> int:
        """The number of draws given n observations."""
        return self.samples_by_n.get(str(n), self.samples)

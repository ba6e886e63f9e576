"""Settings of draws with sizes of their own for some n and tasks."""

from dataclasses import dataclass, field

from tallsbi.study.settings.sample import SampleSettings


@dataclass(frozen=True)
class SizedSampleSettings(SampleSettings):
    """`samples_by_n`: the number of draws at those n that have another. `sets`: how many parameter sets, from the first
    on; None for all."""

    samples_by_n: dict[str, int] = field(default_factory=dict)
    sets: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("samples_by_n", min(self.samples_by_n.values(), default=1) >= 1, "at least 1 each")

    def samples_at(self, n: int) -> int:
        """The number of draws given n observations."""
        return self.samples_by_n.get(str(n), self.samples)

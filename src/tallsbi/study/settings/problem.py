"""Which simulator, and what the configuration decides about it."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings


@dataclass(frozen=True)
class ProblemSettings(Settings):
    """`name`: as in paths. `bounds` of the prior and the true `theta`, by parameter, and the standard deviations `stds`
    of a mixture's components, where they are configured.

    A stage gets only what it depends on; the rest is None.
    """

    name: str
    bounds: dict[str, tuple[float, float]] | None = None
    theta: dict[str, float] | None = None
    stds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        ordered = all(low < high for low, high in (self.bounds or {}).values())
        self.require("bounds", ordered, "pairs with the lower bound first")
        self.require("stds", min(self.stds or (1.0,)) > 0, "positive")

"""Settings of the Markov chains behind a reference posterior: NUTS of the sbibm tasks, MALA of the toy mixture."""

from dataclasses import dataclass

from tallsbi.study.settings.base import Settings


@dataclass(frozen=True)
class ChainSettings(Settings):
    """Sizes of the chains, the bounds of their certificate, and how often the chains are lengthened to meet them."""

    chains: int
    warmup: int
    draws: int
    """Per chain, after warm-up, at the first attempt; each further attempt doubles them."""
    target_accept: float
    max_rhat: float
    min_ess: float
    retries: int

    def __post_init__(self) -> None:
        for name in ("chains", "warmup", "draws"):
            self.require(name, getattr(self, name) >= 1, "at least 1")
        self.require("target_accept", 0 < self.target_accept < 1, "between 0 and 1")
        self.require("retries", self.retries >= 0, "at least 0")

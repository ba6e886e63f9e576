"""What the paper's precision-weighted algorithms GAUSS and JAC share: DDIM and the switch-over."""

from dataclasses import dataclass

from tallsbi.algorithms.shared.composed import ComposedAlgorithm
from tallsbi.samplers.ddim import DDIM, eta_for


@dataclass(frozen=True, kw_only=True)
class WeightedAlgorithm(ComposedAlgorithm):
    """DDIM's churn (None: the paper's, by T) and the switch-over (`tallsbi.compose.base.WeightedScore`)."""

    eta: float | None = None
    switch_over: float = 0.0

    @property
    def churn(self) -> float:
        return eta_for(self.steps) if self.eta is None else self.eta

    @property
    def sampler(self) -> DDIM:
        return DDIM(steps=self.steps, clip=self.clip, eta=self.churn)

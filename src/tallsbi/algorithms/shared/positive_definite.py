"""What GAUSS_PD and JAC_PD share: the second-order solver and the true bounds of the prior."""

from dataclasses import dataclass

from tallsbi.algorithms.shared.composed import ComposedAlgorithm
from tallsbi.samplers.multistep import Multistep


@dataclass(frozen=True, kw_only=True)
class PositiveDefiniteAlgorithm(ComposedAlgorithm):
    """`churn`: noise of the solver, 0 for none; `narrowest`: the smallest variance of a single posterior, relative to
    the prior's."""

    steps: int = 50
    churn: float = 1.0
    narrowest: float = 1e-4

    true_prior = True

    @property
    def sampler(self) -> Multistep:
        return Multistep(steps=self.steps, clip=self.clip, churn=self.churn)

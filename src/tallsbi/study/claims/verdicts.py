"""From evidence to a verdict.

Evidence is a number with a confidence interval, and the range in which the claim expects the number. The claim *holds*
where the whole interval is inside the range, *does not hold* where the whole interval is outside, and is *undecided*
otherwise. Both answers need the same certainty, and noise alone leads to neither.

A claim with several parts keeps its error probability alpha. If all k parts must hold, each is tested at alpha, since
one wrong acceptance is not enough for the claim to hold; but one part that fails is enough for "does not hold", so
failure is tested at alpha / k. For a claim that needs any one of its parts it is the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

ALPHA = 0.05

Interval = Callable[[float], tuple[float, float]]
"""The confidence interval of a number, by its error probability alpha."""


class Verdict(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided at this scale"


DECIDED = frozenset([Verdict.HOLDS, Verdict.FAILS])


@dataclass(frozen=True)
class Evidence:
    """One comparison: `interval(alpha)` of the number, `expected` (low, high) open range of the claim.

    `exact`: the number has no noise, and the interval is the range of its values: one outside is a counterexample.
    `extremes`: the intervals of the clearest data that so many units can give; None where any interval is possible.
    `missing`: why there is no number. `quantity`: what the number is, in words.
    """

    label: str
    expected: tuple[float, float]
    estimate: float = np.nan
    interval: Interval = lambda alpha: (-np.inf, np.inf)
    count: int = 0
    units: str = ""
    detail: str = ""
    quantity: str = ""
    exact: bool = False
    missing: str = ""
    extremes: tuple[Interval, ...] | None = None

    def possible_verdicts(self, alpha_holds: float, alpha_fails: float) -> frozenset[Verdict]:
        """The answers that so many units can give, whatever their values."""
        if self.missing or self.extremes is None:
            return frozenset() if self.missing else DECIDED
        verdicts = [replace(self, interval=end).verdict(alpha_holds, alpha_fails) for end in self.extremes]
        return DECIDED & frozenset(verdicts)

    def verdict(self, alpha_holds: float, alpha_fails: float) -> Verdict:
        if self.missing:
            return Verdict.UNDECIDED
        if self.within(alpha_holds):
            return Verdict.HOLDS
        if self.exact:
            return Verdict.FAILS
        (low, high), (least, most) = self.interval(alpha_fails), self.expected
        # An infinite end of the range excludes nothing.
        outside = -np.inf < least >= high or np.inf > most <= low
        return Verdict.FAILS if outside else Verdict.UNDECIDED

    def within(self, alpha: float) -> bool:
        (low, high), (least, most) = self.interval(alpha), self.expected
        return (least == -np.inf or least < low) and (most == np.inf or high < most)

    def room_inside(self) -> float:
        """How far the interval is inside the expected range, relative to its length; negative where it is outside.

        The ledger shows the evidence with the least; exact numbers come after those with noise.
        """
        if self.exact:
            return np.inf if self.within(ALPHA) else -np.inf
        low, high = self.interval(ALPHA)
        inside = min(low - self.expected[0], self.expected[1] - high)
        return inside / (high - low) if np.isfinite(high - low) and high > low else inside


@dataclass(frozen=True)
class CombinedEvidence:
    """Several pieces of evidence; `every`: all are needed, else any one is enough."""

    children: tuple[Evidence | CombinedEvidence, ...]
    every: bool = True

    def verdict(self, alpha_holds: float, alpha_fails: float) -> Verdict:
        alphas = self._child_alphas(alpha_holds, alpha_fails)
        verdicts = [child.verdict(*alphas) for child in self.children]
        by_all, by_one = (Verdict.HOLDS, Verdict.FAILS) if self.every else (Verdict.FAILS, Verdict.HOLDS)
        if by_one in verdicts:
            return by_one
        return by_all if verdicts and set(verdicts) == {by_all} else Verdict.UNDECIDED

    def possible_verdicts(self, alpha_holds: float, alpha_fails: float) -> frozenset[Verdict]:
        """The answers that so much data can give: with `every` "holds" takes all children, "does not hold" any."""
        alphas = self._child_alphas(alpha_holds, alpha_fails)
        possible = [child.possible_verdicts(*alphas) for child in self.children]
        quantifiers = {Verdict.HOLDS: all if self.every else any, Verdict.FAILS: any if self.every else all}
        return frozenset(
            verdict for verdict in DECIDED if quantifiers[verdict](verdict in answers for answers in possible)
        )

    def blocking(
        self, verdict: Verdict, alpha_holds: float = ALPHA, alpha_fails: float = ALPHA
    ) -> Evidence | None:
        """The first piece of evidence that cannot give the verdict."""
        alphas = self._child_alphas(alpha_holds, alpha_fails)
        for child in self.children:
            if verdict not in child.possible_verdicts(*alphas):
                return child.blocking(verdict, *alphas) if isinstance(child, CombinedEvidence) else child
        return None

    def decisive(
        self, alpha_holds: float = ALPHA, alpha_fails: float = ALPHA
    ) -> list[tuple[Evidence, Verdict]]:
        """The pieces of evidence that the verdict rests on, each with its own; of alternatives, the closest one."""
        alphas = self._child_alphas(alpha_holds, alpha_fails)
        entries: list[tuple[Evidence, Verdict]] = []
        for child in self.children:
            entries += (
                child.decisive(*alphas)
                if isinstance(child, CombinedEvidence)
                else [(child, child.verdict(*alphas))]
            )
        if self.every:
            return entries
        best = max(
            entries,
            key=lambda entry: (entry[1] == Verdict.HOLDS, not entry[0].missing, entry[0].room_inside()),
        )
        return [(best[0], self.verdict(alpha_holds, alpha_fails))]

    def _child_alphas(self, alpha_holds: float, alpha_fails: float) -> tuple[float, float]:
        """The error probabilities of each child, so that all children together keep those given."""
        count = max(len(self.children), 1)
        return (alpha_holds, alpha_fails / count) if self.every else (alpha_holds / count, alpha_fails)


def judge(evidence: Evidence | CombinedEvidence) -> Verdict:
    return evidence.verdict(ALPHA, ALPHA)

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
    `extremes`: the intervals of the clearest data that so many units can give; None where these know no bounds.
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

    def possible(self, alpha_holds: float, alpha_fails: float) -> frozenset[Verdict]:
        """The answers that so many units can give, whatever their values."""
        if self.missing or self.extremes is None:
            return frozenset() if self.missing else DECIDED
        reached = [replace(self, interval=each).verdict(alpha_holds, alpha_fails) for each in self.extremes]
        return DECIDED & frozenset(reached)

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

    def room(self) -> float:
        """How far the interval is inside the expected range, relative to its length; negative where it is outside.

        It chooses what the ledger shows; exact numbers come after those with noise.
        """
        if self.exact:
            return np.inf if self.within(ALPHA) else -np.inf
        low, high = self.interval(ALPHA)
        inside = min(low - self.expected[0], self.expected[1] - high)
        return inside / (high - low) if np.isfinite(high - low) and high > low else inside


@dataclass(frozen=True)
class Parts:
    """Several pieces of evidence; `every`: all are needed, else any one is enough."""

    children: tuple[Evidence | Parts, ...]
    every: bool = True

    def verdict(self, alpha_holds: float, alpha_fails: float) -> Verdict:
        split = self._split(alpha_holds, alpha_fails)
        verdicts = [child.verdict(*split) for child in self.children]
        needed, enough = (Verdict.HOLDS, Verdict.FAILS) if self.every else (Verdict.FAILS, Verdict.HOLDS)
        if enough in verdicts:
            return enough
        return needed if verdicts and set(verdicts) == {needed} else Verdict.UNDECIDED

    def possible(self, alpha_holds: float, alpha_fails: float) -> frozenset[Verdict]:
        """The answers that so much data can give: with `every`, that it holds needs all, that it fails needs any."""
        split = self._split(alpha_holds, alpha_fails)
        reached = [child.possible(*split) for child in self.children]
        quantifiers = {Verdict.HOLDS: all if self.every else any, Verdict.FAILS: any if self.every else all}
        return frozenset(
            verdict for verdict in DECIDED if quantifiers[verdict](verdict in each for each in reached)
        )

    def blocking(
        self, verdict: Verdict, alpha_holds: float = ALPHA, alpha_fails: float = ALPHA
    ) -> Evidence | None:
        """The first piece of evidence that cannot give an answer."""
        split = self._split(alpha_holds, alpha_fails)
        for child in self.children:
            if verdict not in child.possible(*split):
                return child.blocking(verdict, *split) if isinstance(child, Parts) else child
        return None

    def decisive(
        self, alpha_holds: float = ALPHA, alpha_fails: float = ALPHA
    ) -> list[tuple[Evidence, Verdict]]:
        """The pieces of evidence that the verdict rests on, each with its own; of alternatives, the closest one."""
        split = self._split(alpha_holds, alpha_fails)
        entries: list[tuple[Evidence, Verdict]] = []
        for child in self.children:
            entries += (
                child.decisive(*split) if isinstance(child, Parts) else [(child, child.verdict(*split))]
            )
        if self.every:
            return entries
        best = max(
            entries, key=lambda entry: (entry[1] == Verdict.HOLDS, not entry[0].missing, entry[0].room())
        )
        return [(best[0], self.verdict(alpha_holds, alpha_fails))]

    def _split(self, alpha_holds: float, alpha_fails: float) -> tuple[float, float]:
        count = max(len(self.children), 1)
        return (alpha_holds, alpha_fails / count) if self.every else (alpha_holds / count, alpha_fails)


def judge(evidence: Evidence | Parts) -> Verdict:
    return evidence.verdict(ALPHA, ALPHA)

"""What a benchmark returns, how it takes times, and how the results are shown.

Times are CPU seconds of one thread. In every round all contestants run in turns, and a ratio is the median
of the rounds' own ratios. This compares fairly on a busy machine: the time of other programs
does not count, and a slow moment hits all contestants alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One comparison: `ratio` is held against `bar`, from above (`at_most`) or from below; None: no bar."""

    name: str
    ours: float
    reference: float
    unit: str
    ratio: float
    bar: float | None = None
    at_most: bool = True

    @property
    def ok(self) -> bool:
        if self.bar is None:
            return True
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar

    def cells(self) -> list[str]:
        if self.bar is None:
            bar, verdict = "-", "-"
        else:
            bar, verdict = f"{'<=' if self.at_most else '>='} {self.bar:g}", "yes" if self.ok else "NO"
        values = [f"{value:.4g} {self.unit}" for value in (self.ours, self.reference)]
        return [self.name, *values, f"{self.ratio:.2f}", bar, verdict]


HEADER = ["name", "ours", "reference", "ratio", "bar", "ok"]


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


@dataclass(frozen=True)
class Times:
    """CPU seconds of each contestant in each round."""

    rounds: dict[str, list[float]]

    def seconds(self, name: str) -> float:
        return median(self.rounds[name])

    def ratio(self, name: str, reference: str) -> float:
        """Median over the rounds of how much longer `name` took than `reference` in the same round."""
        pairs = zip(self.rounds[name], self.rounds[reference], strict=True)
        return median(one / other for one, other in pairs)


def cpu_times(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> Times:
    """Runs all contestants in turns; one more round at the start warms up and is thrown away."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for round_ in range(rounds + 1):
        for name, contestant in contestants.items():
            start = clock()
            contestant()
            elapsed = clock() - start
            if round_ > 0:
                seconds[name].append(elapsed)
    return Times(seconds)

"""Where calibration ends: between the last n that holds and the first that fails."""

import math
from collections.abc import Sequence

from tallsbi.metrics.calibration import Calibration


def reach(measured: Sequence[Calibration]) -> int:
    """Trustworthy up to here: where the first departure passes its bar, or the largest n measured if none does.

    `measured`: at growing n, all but the last without departures. 0: not even the smallest n can be trusted.
    """
    last = measured[-1]
    if not last.departures:
        return last.n
    if len(measured) == 1:
        return 0
    before = measured[-2]
    sizes, steps = before.sizes(), math.log(last.n / before.n)
    crossings = []
    for each in last.departures:
        # Below its bar at the n before, or above it by chance.
        size = min(max(sizes[each.coordinate, each.measure], 0.0), 1.0)
        crossings.append(before.n * math.exp(steps * (1 - size) / (each.size - size)))
    return max(before.n, math.floor(min(crossings)))


def worst(at: Calibration) -> str:
    """The largest departure in words; what is wrong with the width comes first, since it tells how to correct it."""
    if not at.departures:
        return ""
    first = ([each for each in at.departures if each.measure == "rms_z"] or at.departures)[0]
    more = len({each.coordinate for each in at.departures}) - 1
    others = f" and {more} other{'s' if more > 1 else ''}" if more else ""
    return f"{first} (parameter {first.coordinate}{others})"


def until_failure(measured: Sequence[Calibration]) -> tuple[Calibration, ...]:
    """Up to the first n that fails, with it."""
    for k, at in enumerate(measured):
        if at.departures:
            return tuple(measured[: k + 1])
    return tuple(measured)

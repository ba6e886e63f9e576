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
    sizes, log_ratio = before.sizes(), math.log(last.n / before.n)
    crossings = []
    for departure in last.departures:
        # Below its bar at the n before, or above it by chance.
        size = min(max(sizes[departure.coordinate, departure.measure], 0.0), 1.0)
        crossings.append(before.n * math.exp(log_ratio * (1 - size) / (departure.size - size)))
    return max(before.n, math.floor(min(crossings)))


def worst(calibration: Calibration) -> str:
    """The largest departure in words; what is wrong with the width comes first, since it tells how to correct it."""
    departures = calibration.departures
    if not departures:
        return ""
    first = ([departure for departure in departures if departure.measure == "rms_z"] or departures)[0]
    count = len({departure.coordinate for departure in departures}) - 1
    others = f" and {count} other{'s' if count > 1 else ''}" if count else ""
    return f"{first} (parameter {first.coordinate}{others})"


def until_failure(measured: Sequence[Calibration]) -> tuple[Calibration, ...]:
    """Up to the first n that fails, with it."""
    for k, calibration in enumerate(measured):
        if calibration.departures:
            return tuple(measured[: k + 1])
    return tuple(measured)

"""Progress of long loops: a bar in a terminal, a line every ten seconds in a log file."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

Item = TypeVar("Item")
Progress = Callable[[Iterable[Item]], Iterable[Item]]
"""Passes the items of a loop on and shows how far it is; `iter` shows nothing."""

SECONDS_BETWEEN_LINES = 10.0

_log = logging.getLogger(__name__)


def progress(
    iterable: Iterable[Item],
    *,
    total: int | None = None,
    label: str,
    bar: bool | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Item]:
    """Passes the items on and reports how far the loop is.

    `total` is the length of the iterable if it has one. `bar` chooses between a bar and log lines; by
    default a terminal gets a bar. Lines come at most every ten seconds, so a short loop logs nothing.
    """
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    if sys.stderr.isatty() if bar is None else bar:
        return _with_bar(iterable, total, label)
    return _with_lines(iterable, total, label, clock)


def _with_bar(iterable: Iterable[Item], total: int | None, label: str) -> Iterator[Item]:
    from tqdm import tqdm

    return iter(tqdm(iterable, total=total, desc=label, leave=False, delay=1.0))


def _with_lines(
    iterable: Iterable[Item], total: int | None, label: str, clock: Callable[[], float]
) -> Iterator[Item]:
    start = last = clock()
    done = 0
    for item in iterable:
        yield item
        done += 1
        now = clock()
        if now - last >= SECONDS_BETWEEN_LINES and done != total:
            _log.info("%s: %s", label, describe(done, total, now - start))
            last = now
    elapsed = clock() - start
    if elapsed >= SECONDS_BETWEEN_LINES:
        _log.info("%s: finished %d in %s", label, done, duration(elapsed))


def describe(done: int, total: int | None, elapsed: float) -> str:
    """How far a loop is, e.g. ``30/120 (25%), 0:00:40 elapsed, 0:02:00 remaining``."""
    if not total or not done:
        return f"{done} done, {duration(elapsed)} elapsed"
    remaining = elapsed * max(total - done, 0) / done
    share = f"{done}/{total} ({done / total:.0%})"
    return f"{share}, {duration(elapsed)} elapsed, {duration(remaining)} remaining"


def duration(seconds: float) -> str:
    """A time span as hours:minutes:seconds."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}"

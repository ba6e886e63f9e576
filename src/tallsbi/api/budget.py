"""`fit(budget="5 min")`: width, learning rate and epochs for the time there is.

The time of an epoch is measured for networks of several widths, and the widest is taken that has time for enough
steps. Short trainings choose the learning rate; the rest of the time is epochs. The choice depends on the machine: for
the same network elsewhere, give the settings that were chosen.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tallsbi.progress import Progress, duration
from tallsbi.training.loop import Run
from tallsbi.training.settings import TrainingSettings

WIDTHS = ((64, 64, 64), (128, 128, 128), (256, 256, 256))
RATES = (1e-3, 4e-3, 1e-2)
_UNIT_NAMES = {1: "s sec secs second seconds", 60: "m min mins minute minutes", 3600: "h hr hour hours"}
_UNIT_SECONDS = {name: seconds for seconds, unit_names in _UNIT_NAMES.items() for name in unit_names.split()}
_FEWEST_STEPS = 15_000  # a wider network is taken only if it has time for these
_TIMED_BATCHES = 15
_PILOT_SHARE = 0.15  # of the time, for the short trainings that choose the learning rate
_MOST_EPOCHS = 5000


def seconds_of(budget: Any) -> float:
    """From "5 min", "90 s", "1.5 h", a number of seconds or a timedelta."""
    value = None
    if isinstance(budget, timedelta):
        value = budget.total_seconds()
    elif isinstance(budget, (int, float)) and not isinstance(budget, bool):
        value = float(budget)
    elif isinstance(budget, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", budget.lower())
        unit = None if match is None else _UNIT_SECONDS.get(match[2])
        value = None if match is None or unit is None else float(match[1]) * unit
    if value is None or not 0 < value < float("inf"):
        raise ValueError(f"budget = {budget!r}: give a time, such as '5 min', '90 s', '1 h', or seconds.")
    return value


@dataclass(frozen=True)
class Budget:
    """`seconds` for all of `fit`, since `start`; `free`: which of hidden, learning_rate and epochs may be chosen."""

    seconds: float
    start: float
    free: frozenset[str]

    @property
    def left(self) -> float:
        return self.start + self.seconds - time.monotonic()

    def choose(
        self, new_run: Callable[[TrainingSettings], Run], settings: TrainingSettings, share: float
    ) -> Choice:
        """Settings for what is left; `share` of it is for training, the rest for what comes after."""
        end = time.monotonic() + max(share * self.left, 0.0)
        widths = WIDTHS if "hidden" in self.free else (settings.hidden,)
        hidden, seconds_per_epoch = widths[0], float("inf")
        for width in widths:
            run = new_run(replace(settings, hidden=width))
            needed = epoch_seconds(run)
            steps_per_epoch = -(-len(run.data.theta) // settings.batch_size)
            enough = (end - time.monotonic()) / needed * steps_per_epoch >= _FEWEST_STEPS
            if width == widths[0] or enough:
                hidden, seconds_per_epoch = width, needed
            if not enough:
                break
        chosen = replace(settings, hidden=hidden)
        if "learning_rate" in self.free:
            seconds = _PILOT_SHARE * (end - time.monotonic()) / len(RATES)
            if seconds >= 3 * seconds_per_epoch:
                pilot = replace(chosen, epochs=int(seconds / seconds_per_epoch), validate_every=1)
                losses = {
                    rate: _pilot(new_run(replace(pilot, learning_rate=rate)), seconds) for rate in RATES
                }
                chosen = replace(chosen, learning_rate=min(losses, key=lambda rate: losses[rate]))
        epochs = chosen.epochs
        if "epochs" in self.free:
            epochs = int(min(max((end - time.monotonic()) / seconds_per_epoch, 1), _MOST_EPOCHS))
        # Validated often enough that there is a best network when time is up.
        validate_every = min(chosen.validate_every, max(1, epochs // 20))
        min_epochs = min(chosen.min_epochs, epochs)
        chosen = replace(chosen, epochs=epochs, validate_every=validate_every, min_epochs=min_epochs)
        return Choice(chosen, end, self.seconds)


@dataclass(frozen=True)
class Choice:
    """The settings that were chosen, and the time at which training has to end, for a budget of `seconds`."""

    settings: TrainingSettings
    end: float
    seconds: float

    def __str__(self) -> str:
        s = self.settings
        return (
            f"budget of {duration(self.seconds)}: hidden={s.hidden}, learning_rate={s.learning_rate:g}, "
            f"epochs={s.epochs}"
        )

    def announce(self, progress: bool | None) -> None:
        if progress is not False:
            print(f"fit: {self}", file=sys.stderr)

    def until_the_end(self, progress: Progress) -> Progress:
        """The epochs until time is up, one at least."""

        def limited(epochs: Iterable[Any]) -> Iterator[Any]:
            for count, epoch in enumerate(progress(epochs)):
                if count and count % self.settings.validate_every == 0 and time.monotonic() > self.end:
                    return
                yield epoch

        return limited


def epoch_seconds(run: Run) -> float:
    """The time of an epoch, measured on a few batches; the run is of no other use afterwards."""
    rows = len(run.data.theta)
    timed_rows = min(rows, _TIMED_BATCHES * run.settings.batch_size)
    run.settings = replace(run.settings, validate_every=10**6, epochs=10**6)
    run.data = replace(run.data, theta=run.data.theta[:timed_rows], x=run.data.x[:timed_rows], weights=None)
    run.one_epoch()  # the first one is slower
    start = time.monotonic()
    run.one_epoch()
    # A fifth more, for validation, checkpoints and other work of the machine.
    return 1.2 * max(time.monotonic() - start, 1e-6) * rows / timed_rows


def _pilot(run: Run, seconds: float) -> float:
    """The validation loss after a short training, in which the learning rate falls as in a long one."""
    end, losses = time.monotonic() + seconds, [float("inf")]
    try:
        while run.epoch < run.settings.epochs and time.monotonic() < end:
            run.one_epoch()
            losses.append(run.validation_losses[-1])
    except ArithmeticError:
        return float("inf")
    return min(losses)


def free(given: dict[str, Any], defaults: dict[str, Any]) -> frozenset[str]:
    """The settings that were left at their defaults."""
    return frozenset(name for name, value in given.items() if _is_default(value, defaults[name]))


def _is_default(value: Any, default: Any) -> bool:
    return tuple(value) == tuple(default) if isinstance(default, Sequence) else value == default

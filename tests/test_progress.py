"""Progress passes items on and reports now and then."""

import io
import logging
import sys

import pytest

from tallsbi.progress import describe, duration, progress


class Clock:
    """A clock that moves by a fixed step each time an item is taken."""

    def __init__(self, step: float) -> None:
        self.now = 100.0
        self.step = step

    def __call__(self) -> float:
        return self.now

    def items(self, count: int):
        for item in range(count):
            self.now += self.step
            yield item


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def lines(caplog, count, step, **options):
    clock = Clock(step)
    with caplog.at_level(logging.INFO, logger="tallsbi"):
        assert list(progress(clock.items(count), label="cells", bar=False, clock=clock, **options)) == list(
            range(count)
        )
    return [record.getMessage() for record in caplog.records]


def test_short_loop_is_silent(caplog):
    assert lines(caplog, 100, 0.09, total=100) == []


def test_long_loop_reports_every_ten_seconds_and_at_the_end(caplog):
    assert lines(caplog, 5, 6.0, total=5) == [
        "cells: 2/5 (40%), 0:00:12 elapsed, 0:00:18 remaining",
        "cells: 4/5 (80%), 0:00:24 elapsed, 0:00:06 remaining",
        "cells: finished 5 in 0:00:30",
    ]


def test_last_item_is_reported_once(caplog):
    assert lines(caplog, 2, 20.0, total=2) == [
        "cells: 1/2 (50%), 0:00:20 elapsed, 0:00:20 remaining",
        "cells: finished 2 in 0:00:40",
    ]


def test_many_short_steps_report_rarely(caplog):
    assert len(lines(caplog, 10_000, 0.01, total=10_000)) == 10


def test_unknown_length(caplog):
    assert lines(caplog, 2, 20.0) == [
        "cells: 1 done, 0:00:20 elapsed",
        "cells: 2 done, 0:00:40 elapsed",
        "cells: finished 2 in 0:00:40",
    ]


def test_length_is_taken_from_the_iterable(caplog):
    times = iter([0.0, 15.0, 30.0, 45.0, 45.0])
    with caplog.at_level(logging.INFO, logger="tallsbi"):
        list(progress("abc", label="x", bar=False, clock=lambda: next(times)))
    assert caplog.messages[0].startswith("x: 1/3 (33%)")


def test_no_carriage_returns_in_a_log(caplog, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    clock = Clock(6.0)
    with caplog.at_level(logging.INFO, logger="tallsbi"):
        list(progress(clock.items(5), label="x", clock=clock))
    assert caplog.messages
    assert "\r" not in "".join(caplog.messages) + stream.getvalue()


def test_terminal_gets_a_bar_and_no_lines(caplog, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    tqdm = pytest.importorskip("tqdm")
    made = []

    class Bar(tqdm.tqdm):
        def __init__(self, *args, **options):
            made.append((options["desc"], options["total"]))
            super().__init__(*args, **options)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    with caplog.at_level(logging.INFO, logger="tallsbi"):
        assert list(progress([1, 2], label="x")) == [1, 2]
    assert made == [("x", 2)]
    assert caplog.messages == []


def test_error_in_the_loop_passes_through():
    def fail():
        yield 1
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        list(progress(fail(), label="x", bar=False))


def test_items_are_not_taken_ahead():
    taken = []
    source = (taken.append(item) or item for item in range(5))
    loop = progress(source, label="x", bar=False)
    next(loop)
    assert taken == [0]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00:00"), (59.6, "0:01:00"), (3661, "1:01:01"), (360000, "100:00:00")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_more_done_than_expected_has_nothing_remaining():
    assert describe(6, 5, 10.0).endswith("0:00:00 remaining")

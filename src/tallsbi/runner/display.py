"""What a run shows while it works: in a terminal one line that is redrawn, elsewhere one line a minute.

    212/611 jobs (35%)  0 failed  2 running  3:12  ends about 10:45  sample

Warnings and failures are printed in full, a failure with the log of its job. Snakemake's own text goes to its log
file. The display never stops a run: errors in it are ignored.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

REDRAW_INTERVAL, LINE_INTERVAL = 1.0, 60.0  # seconds, in a terminal and elsewhere
LOG_LINES = 40  # of the log of a failed job
PLAN_WEIGHT = 30.0  # seconds of the run after which its pace counts as much as the plan
CLEAR, NO_WRAP, WRAP = "\r\x1b[K", "\x1b[?7l", "\x1b[?7h"
# Not shown, because `job_error` reports the failed script with its log.
_SCRIPT_FAILURE = "RuleException:\nCalledProcessError"
# How other messages begin that are shown.
_SHOWN_MESSAGES = ("Nothing to be done", "Reasons:", "This was a dry-run")

_expected_seconds: dict[int, float] = {}
_cores: list[float] = [1.0]


def expect(seconds: Mapping[int, float], cores: float) -> None:
    """Sets the seconds that the cost model predicts for the jobs to run, by job number; before the first job starts."""
    _expected_seconds.clear()
    _expected_seconds.update(seconds)
    _cores[0] = max(cores, 1.0)


@dataclass
class Progress:
    """How far a run is."""

    started: float
    total: int = 0
    done: int = 0
    failures: dict[int, str] = field(default_factory=dict)  # number of the job -> its line at the end
    restarted: int = 0
    running: dict[int, str] = field(default_factory=dict)  # number of the job -> its rule
    finished: set[int] = field(default_factory=set)

    @property
    def stage(self) -> str:
        """The rule of the job that was started last."""
        return next(reversed(self.running.values()), "")

    def remaining(self, now: float) -> float | None:
        """Seconds to the end: by the plan at first, then at the pace so far."""
        if not _expected_seconds:
            return None
        total = sum(_expected_seconds.values())
        done = sum(_expected_seconds.get(job, 0.0) for job in self.finished)
        elapsed = now - self.started
        pace = (done + PLAN_WEIGHT * _cores[0]) / (elapsed + PLAN_WEIGHT)  # planned seconds in a second
        return (total - done) / pace

    def parts(self, now: float) -> list[str]:
        """The parts of the line, the most important first."""
        share = f" ({self.done / self.total:.0%})" if self.total else ""
        parts = [f"{self.done}/{self.total or '?'} jobs{share}"]
        parts.append(f"{len(self.failures)} failed")
        parts.append(f"{len(self.running)} running")
        parts.append(clock(now - self.started))
        remaining = self.remaining(now)
        if remaining is not None and self.done < self.total:
            parts.append(f"ends about {moment(now, remaining)}")
        return parts

    def line(self, now: float, width: int | None = None) -> str:
        """One line of at most `width` characters: parts that do not fit are left out, the last one is cut."""
        line = ""
        for part in [*self.parts(now), self.stage]:
            longer = f"{line}  {part}" if line else part
            if width is not None and len(longer) > width:
                break
            line = longer
        return (line or self.parts(now)[0])[:width]


def clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def moment(now: float, remaining: float) -> str:
    """The time of the day after `remaining` seconds, with the date if that is more than a day ahead."""
    form = "%H:%M" if remaining < 20 * 3600 else "%a %d %b %H:%M"
    return time.strftime(form, time.localtime(now + remaining))


class Display:
    """Shows Snakemake's records on a stream."""

    def __init__(self, stream: TextIO, dry: bool = False, now: Callable[[], float] = time.time) -> None:
        self.stream, self.dry, self.now = stream, dry, now
        self.redraws = _is_terminal(stream)
        self.progress = Progress(now())
        self.drawn = False
        self._printed: set[str] = set()
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None

    # What Snakemake says

    def show(self, record: logging.LogRecord) -> None:
        """Takes a record of Snakemake's log. An error here must not disturb the run."""
        with contextlib.suppress(Exception), self._lock:
            self._take(record, str(getattr(record, "event", None) or ""))

    def _take(self, record: logging.LogRecord, event: str) -> None:
        progress, text = self.progress, str(record.msg or "")
        match event:
            case "run_info":
                progress.total = int(getattr(record, "stats", {}).get("total", 0))
                if self.dry:
                    self._say_once(text)
            case "job_info":
                if not self.dry:
                    progress.running[record.jobid] = record.rule_name  # type: ignore[attr-defined]
                    self._start()
            case "job_finished":
                progress.running.pop(record.job_id, None)  # type: ignore[attr-defined]
                progress.finished.add(record.job_id)  # type: ignore[attr-defined]
            case "progress":
                progress.done, progress.total = record.done, record.total  # type: ignore[attr-defined]
            case "job_error":
                self._fail(record)
            case _ if text.startswith(_SCRIPT_FAILURE):
                return
            case (
                "workflow_started" | "job_started" | "shellcmd" | "resources_info" | "rulegraph" | "debug_dag"
            ):
                return
            case _:
                if record.levelno >= logging.WARNING or text.startswith(_SHOWN_MESSAGES):
                    self._say_once(text)
                elif match := re.match(r"Trying to restart job (\d+)", text):
                    progress.restarted += 1
                    progress.failures.pop(int(match[1]), None)
                    self._say(text)
        if self.redraws:
            self._draw()

    def _fail(self, record: logging.LogRecord) -> None:
        number = getattr(record, "jobid", -1)
        self.progress.running.pop(number, None)
        if number in self.progress.failures:
            return  # Snakemake says it again at the end
        logs = [str(path) for path in getattr(record, "log", ())]
        rule, outputs = getattr(record, "rule_name", "?"), ", ".join(getattr(record, "output", ()))
        self.progress.failures[number] = f"{rule}: {outputs}" + (f" (log: {', '.join(logs)})" if logs else "")
        self._say("\n".join([f"FAILED {rule}: {outputs}", *_auxiliary(record), *_tails(logs)]))

    # What is printed

    def _say_once(self, text: str) -> None:
        if text and text not in self._printed:
            self._printed.add(text)
            self._say(text)

    def _say(self, text: str) -> None:
        """Prints lines that stay, above the line that is redrawn."""
        self._write(f"{CLEAR if self.drawn else ''}{text}\n")
        self.drawn = False

    def _draw(self) -> None:
        if self._ticker is not None:
            text = self.progress.line(self.now(), max(_width(self.stream) - 1, 1))
            self._write(f"{CLEAR}{NO_WRAP}{text}{WRAP}")
            self.drawn = True

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            self.redraws = False
            self._stop.set()

    # Regular updates

    def _start(self) -> None:
        if self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
            if not self.redraws:
                self._say(self.progress.line(self.now()))

    def _tick(self) -> None:
        while not self._stop.wait(REDRAW_INTERVAL if self.redraws else LINE_INTERVAL):
            with contextlib.suppress(Exception), self._lock:
                if self.redraws:
                    self._draw()
                else:
                    self._say(self.progress.line(self.now()))

    def end(self) -> None:
        """Prints the summary: how many jobs, how long, and what failed."""
        if self._stop.is_set() and not self.drawn:
            return
        self._stop.set()
        with contextlib.suppress(Exception), self._lock:
            if self.drawn:
                self._write(CLEAR)
                self.drawn = False
            if self._ticker is not None:
                self._say("\n".join(self._summary()))

    def _summary(self) -> Iterator[str]:
        progress = self.progress
        count, time_taken = len(progress.finished), clock(self.now() - progress.started)
        restarts = f", {progress.restarted} of them tried again" if progress.restarted else ""
        yield f"{count} of {progress.total} jobs done in {time_taken}{restarts}"
        if progress.failures:
            yield f"{len(progress.failures)} failed:"
            yield from (f"  {failure}" for failure in progress.failures.values())
            yield "Mend the cause and give the same command again: what is done stays done."


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    except (OSError, ValueError, AttributeError):
        return False


def _width(stream: TextIO) -> int:
    """The columns of the terminal now, since its window may have changed. Some terminals say 0 before they know."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


def _auxiliary(record: logging.LogRecord) -> list[str]:
    """What the executor adds, for example the number of the job in the queue."""
    more: Mapping[str, Any] = getattr(record, "aux", None) or {}
    message = getattr(record, "rule_msg", None)
    return [*([str(message)] if message else []), *(f"{name}: {value}" for name, value in more.items())]


def _tails(logs: list[str]) -> Iterator[str]:
    """The last lines of log files."""
    for path in logs:
        try:
            lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            yield f"{path}: no such log"
            continue
        cut = f", its last {LOG_LINES} lines" if len(lines) > LOG_LINES else ""
        yield f"--- {path}{cut}"
        yield from lines[-LOG_LINES:]
        yield "---"

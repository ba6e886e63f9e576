"""Logging of one job: everything to its log file, warnings and failures to the terminal as well.

The package logs from level INFO on, other libraries from WARNING on, so that a log file stays readable.
"""

import faulthandler
import logging
import sys
from pathlib import Path
from types import TracebackType

PACKAGE = "tallsbi"
_MARK = "_tallsbi_job"

_FILE_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_TERMINAL_FORMAT = "%(levelname)s %(name)s: %(message)s"
_CLEAR = "\r\x1b[K"  # the line of the run's display (`tallsbi.runner.display`) may stand where a job writes


def setup(log_path: str | Path | None, name: str) -> logging.Logger:
    """Starts the log of the job `name` and returns its logger.

    The log file starts empty; without one, everything goes to the terminal. Uncaught exceptions, warnings and the
    stacks of crashes below Python go to the log file too. A second call replaces the first.
    """
    reset()
    level = logging.INFO if log_path is None else logging.WARNING
    _add(logging.StreamHandler(), level, _clear() + _TERMINAL_FORMAT)
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger(PACKAGE).setLevel(logging.INFO)
    logger = logging.getLogger(f"{PACKAGE}.rule.{name}")
    logging.captureWarnings(True)
    if log_path is not None:
        _log_to_file(Path(log_path), logger)
    return logger


def reset() -> None:
    """Undoes `setup`, if it was called."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if hasattr(handler, _MARK)]:
        if isinstance(handler, logging.FileHandler):
            # The fault handler holds the descriptor of the file, which is closed here.
            faulthandler.disable()
        root.removeHandler(handler)
        handler.close()
    if hasattr(sys.excepthook, _MARK):
        sys.excepthook = sys.__excepthook__
    logging.captureWarnings(False)


def _log_to_file(path: Path, logger: logging.Logger) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    _add(handler, logging.NOTSET, _FILE_FORMAT)
    faulthandler.enable(file=handler.stream)

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        record = logger.makeRecord(
            logger.name, logging.CRITICAL, __file__, 0, "the job failed", (), (kind, error, trace)
        )
        handler.handle(record)
        print(
            f"{_clear()}{logger.name} failed: {kind.__name__}: {error} (traceback in {path})", file=sys.stderr
        )

    setattr(report, _MARK, True)
    sys.excepthook = report


def _clear() -> str:
    return _CLEAR if sys.stderr.isatty() else ""


def _add(handler: logging.Handler, level: int, pattern: str) -> None:
    handler.setLevel(level)
    handler.setFormatter(logging.Formatter(pattern))
    setattr(handler, _MARK, True)
    logging.getLogger().addHandler(handler)

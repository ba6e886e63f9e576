"""The log of a job holds what it says, what it warns of and how it failed."""

import faulthandler
import logging
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from fresh_python import environment

from tallsbi.runner import logs


@pytest.fixture(autouse=True)
def clean():
    levels = {name: logging.getLogger(name).level for name in (None, "tallsbi")}
    crashes = faulthandler.is_enabled()
    yield
    logs.reset()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    if crashes:
        faulthandler.enable(file=sys.__stderr__)


def run(code: str, log: Path | None) -> subprocess.CompletedProcess:
    """Runs code as a job of its own, since exceptions must end the process."""
    start = f"from tallsbi.runner import logs\nlog = logs.setup({None if log is None else str(log)!r}, 'sample')\n"
    return subprocess.run(
        [sys.executable, "-c", start + code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_messages_go_to_the_file_at_once(tmp_path, capsys):
    path = tmp_path / "deep" / "a.log"
    log = logs.setup(path, "sample")
    log.info("quiet")
    logging.getLogger("tallsbi.study.stages.sample").info("from a module")
    log.warning("loud")
    text = path.read_text()
    assert "quiet" in text
    assert "from a module" in text
    assert "loud" in text
    terminal = capsys.readouterr().err
    assert "loud" in terminal
    assert "quiet" not in terminal


def test_other_libraries_do_not_flood_the_log(tmp_path):
    path = tmp_path / "a.log"
    logs.setup(path, "sample")
    for name in ("numba.core.ssa", "jax._src.xla", "matplotlib.font_manager", "somebody"):
        logging.getLogger(name).info("chatter of %s", name)
        logging.getLogger(name).debug("chatter of %s", name)
    logging.getLogger("somebody").warning("serious")
    text = path.read_text()
    assert "chatter" not in text
    assert "serious" in text


def test_log_starts_empty_and_a_second_setup_replaces_the_first(tmp_path):
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text("of an earlier run\n")
    logs.setup(first, "sample").info("one")
    logs.setup(second, "sample").info("two")
    assert "earlier" not in first.read_text()
    assert "two" not in first.read_text()
    assert second.read_text().count("two") == 1


def test_warnings_are_captured(tmp_path):
    path = tmp_path / "a.log"
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logs.setup(path, "sample")
        warnings.warn("careful", RuntimeWarning, stacklevel=1)
        logs.reset()
    assert "careful" in path.read_text()


def test_without_a_file_the_terminal_gets_everything(capsys):
    logs.setup(None, "sample").info("visible")
    assert "visible" in capsys.readouterr().err


def test_reset_restores_the_hook(tmp_path):
    before = list(logging.getLogger().handlers)
    logs.setup(tmp_path / "a.log", "sample")
    assert sys.excepthook is not sys.__excepthook__
    logs.reset()
    assert sys.excepthook is sys.__excepthook__
    assert logging.getLogger().handlers == before


def test_uncaught_exception_is_in_the_log_and_short_in_the_terminal(tmp_path):
    path = tmp_path / "a.log"
    result = run("def inner():\n    raise ValueError('bad grid')\ninner()\n", path)
    assert result.returncode == 1
    text = path.read_text()
    assert "Traceback" in text
    assert "in inner" in text
    assert "ValueError: bad grid" in text
    assert "ValueError: bad grid" in result.stderr
    assert str(path) in result.stderr
    assert "Traceback" not in result.stderr


def test_uncaught_exception_without_a_file_has_its_traceback_in_the_terminal():
    result = run("raise ValueError('bad grid')\n", None)
    assert "Traceback" in result.stderr


def test_crash_below_python_leaves_its_stack_in_the_log(tmp_path):
    path = tmp_path / "a.log"
    result = run("import faulthandler\ndef inner():\n    faulthandler._sigsegv()\ninner()\n", path)
    assert result.returncode != 0
    assert "Segmentation fault" in path.read_text()
    assert "in inner" in path.read_text()

"""The display of a run: what it says of Snakemake's records, in a terminal of any width and without one."""

from __future__ import annotations

import fcntl
import io
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from fresh_python import environment, loaded

from tallsbi.runner import display, launch
from tallsbi.runner.display import Display, Progress

SNAKEFILE = """
from tallsbi.runner import display
onstart:
    display.expect({job.jobid: 1.0 for job in workflow.dag.needrun_jobs()}, 2)
rule all:
    input: [f"out/{i}" for i in range(3)]
rule make:
    output: "out/{i}"
    log: "{i}.log"
    shell: "echo a word in the log > {log}; sleep 0.2; test {wildcards.i} != 1 || test -e ok; touch {output}"
"""
ENVIRONMENT = environment(TERM="xterm")
COMMAND = [sys.executable, "-m", "snakemake", "--cores", "2", "--keep-going", "--logger", "tallsbi"]


def record(event: str | None = None, level: int = logging.INFO, text: str | None = None, **more):
    made = logging.LogRecord("snakemake", level, "", 0, text, (), None)
    made.__dict__.update(more, **({"event": event} if event else {}))
    return made


@pytest.fixture(autouse=True)
def nothing_expected():
    display.expect({}, 1)
    yield
    display.expect({}, 1)


def shown(*records: logging.LogRecord, dry: bool = False) -> str:
    stream = io.StringIO()
    screen = Display(stream, dry=dry)
    for item in records:
        screen.show(item)
    screen.end()
    return stream.getvalue()


def job(number: int, rule: str = "sample"):
    return record("job_info", jobid=number, rule_name=rule)


def error(number: int, log: Path):
    more = {"jobid": number, "rule_name": "train", "output": ["net"], "log": [str(log)], "aux": {}}
    return record("job_error", logging.ERROR, "Error", **more)


def test_a_failure_is_told_once_in_full_and_again_at_the_end(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("\n".join([*(f"line {i}" for i in range(60)), "ValueError: no"]))
    text = shown(record("run_info", stats={"total": 2}), job(1), error(1, log), error(1, log))
    assert text.count("FAILED train: net") == 1
    assert "line 59\nValueError: no" in text
    assert "line 3\n" not in text
    assert text.splitlines()[-3:-1] == ["1 failed:", f"  train: net (log: {log})"]


def test_that_a_script_has_failed_is_told_by_its_log_alone(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("ValueError: no")
    script_failure = record(
        "error", logging.ERROR, "RuleException:\nCalledProcessError in file x, line 64:\nCommand 'set -e'"
    )
    missing = record("error", logging.ERROR, "RuleException:\nKeyError in file x, line 3:\n'no'")
    text = shown(record("run_info", stats={"total": 1}), job(1), script_failure, error(1, log), missing)
    assert "CalledProcessError" not in text
    assert "ValueError: no" in text
    assert "KeyError in file x" in text


def test_a_job_that_is_tried_again_has_not_failed(tmp_path):
    again, done = record(text="Trying to restart job 1."), record("job_finished", job_id=1)
    text = shown(job(1), error(1, tmp_path / "none.log"), again, job(1), done)
    assert "no such log" in text
    assert "failed:" not in text
    assert "1 of them tried again" in text


def test_warnings_and_errors_are_shown_and_small_talk_is_not():
    text = shown(
        record(text="Building DAG of jobs..."),
        record(level=logging.WARNING, text="Mind the gap."),
        record("error", logging.ERROR, "Directory cannot be locked."),
        record(text="Nothing to be done (all requested files are present and up to date)."),
    )
    assert text.splitlines()[:2] == ["Mind the gap.", "Directory cannot be locked."]
    assert text.splitlines()[2].startswith("Nothing to be done")


def test_a_dry_run_shows_the_table_of_jobs_and_not_every_job():
    table = record("run_info", text="Job stats:\njob  count", stats={"total": 3})
    text = shown(table, job(1), job(2), table, record(text="Reasons:\n    code"), dry=True)
    assert text == "Job stats:\njob  count\nReasons:\n    code\n"


def test_the_line_fits_any_width():
    display.expect(dict.fromkeys(range(4), 60.0), 2)
    rules = {2: "sample", 3: "a_rule_with_a_long_name"}
    progress = Progress(0.0, total=4, done=1, running=rules, finished={0})
    whole = progress.line(100.0)
    pattern = r"1/4 jobs \(25%\)  0 failed  2 running  1:40  ends about \d\d:\d\d  a_rule_with_a_long_name"
    assert re.fullmatch(pattern, whole)
    for width in range(1, 121):
        line = progress.line(100.0, width)
        assert 0 < len(line) <= width
        assert whole.startswith(line)
        assert (line == whole) == (width >= len(whole))


def test_the_end_is_expected_by_the_plan_first_and_by_the_pace_later():
    display.expect(dict.fromkeys(range(10), 100.0), 2)
    assert Progress(0.0, total=10).remaining(0.0) == pytest.approx(500)
    slow = Progress(0.0, total=10, done=5, finished=set(range(5)))
    assert slow.remaining(10_000.0) == pytest.approx(500 * 10_030 / 560)


def test_a_closed_stream_and_a_strange_record_disturb_nobody():
    stream = io.StringIO()
    screen = Display(stream)
    screen.show(record("progress"))  # without its numbers
    screen.show(job(1))
    stream.close()
    screen.show(error(1, Path("x")))
    screen.end()


def test_without_a_terminal_there_is_a_line_a_minute(monkeypatch):
    monkeypatch.setattr(display, "LINE_INTERVAL", 0.02)
    stream = io.StringIO()
    screen = Display(stream)
    screen.show(job(1))
    time.sleep(0.3)
    screen.end()
    lines = stream.getvalue().splitlines()
    assert len(lines) > 3
    assert lines[0] == "0/? jobs  0 failed  1 running  0:00  sample"


@pytest.mark.parametrize("word", ["--unlock", "-q", "--report", "--logger=x", "--list-rules"])
def test_other_output_is_left_alone(word):
    assert launch.display_options([word]) == []


def test_verbose_brings_snakemakes_text_back(monkeypatch):
    monkeypatch.delenv("VERBOSE", raising=False)
    assert launch.display_options(["-n", "toy", "--keep-going"]) == ["--logger", "tallsbi"]
    monkeypatch.setenv("VERBOSE", "1")
    assert launch.display_options([]) == []


def test_the_plugin_alone_imports_no_package_of_any_checkout():
    assert loaded("import snakemake_logger_plugin_tallsbi", "tallsbi") == []


# Snakemake with the plugin


@pytest.fixture
def workflow(tmp_path) -> Path:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    return tmp_path


def in_terminal(folder: Path, columns: int) -> tuple[int, str]:
    """Exit code, and all that a terminal of this width gets."""
    head, tail = pty.openpty()
    fcntl.ioctl(tail, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(COMMAND, cwd=folder, env=ENVIRONMENT, stdout=tail, stderr=tail)
    os.close(tail)
    chunks: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(head, 65536):
                chunks.append(chunk)
        except OSError:  # how a terminal says that nobody writes any more
            return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    status = process.wait(300)
    reader.join(30)
    os.close(head)
    return status, b"".join(chunks).decode()


@pytest.mark.parametrize("columns", [100, 12])
def test_in_a_terminal_the_line_lives_and_the_exit_code_stays(workflow, columns):
    status, text = in_terminal(workflow, columns)
    assert status == 1
    drawn = re.findall(r"\x1b\[\?7l(.*?)\x1b\[\?7h", text)
    assert len(drawn) > 3
    assert all(len(line) < columns for line in drawn)
    assert drawn[-1].startswith("2/4 jobs")
    for words in ("FAILED make: out/1", "a word in the log", "2 of 4 jobs done in 0:", "1 failed:"):
        assert words in text
    assert "Finished jobid" not in text


def test_without_a_terminal_there_are_a_few_plain_lines(workflow):
    (workflow / "ok").touch()
    done = subprocess.run(COMMAND, cwd=workflow, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr
    assert "4 of 4 jobs done in 0:" in done.stderr
    assert len(done.stderr.splitlines()) < 6
    assert "Finished jobid" in next((workflow / ".snakemake/log").glob("*.log")).read_text()

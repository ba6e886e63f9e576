"""`make results` hands its settings on as they are, and becomes Snakemake only where a run can start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tallsbi.runner import guard, launch
from tallsbi.runner.command import Project, main

PROJECT = Project(stages={}, timed=())


class Became(Exception):
    """Stands for the end of this program: another one has taken its place."""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts the launcher in a directory; gives the words that Snakemake gets."""
    (tmp_path / "config.yaml").write_text("scale: smoke\nprotocol: published\n")
    monkeypatch.chdir(tmp_path)

    def become(program, words):
        assert program == words[0] == sys.executable
        raise Became(words[1:])

    monkeypatch.setattr(launch.os, "execv", become)

    def run(*arguments: str) -> list[str]:
        with pytest.raises(Became) as caught:
            main(PROJECT, ["run", *arguments])
        return caught.value.args[0]

    return run


def test_nothing_given_is_nothing_passed_on(start):
    words = start("--scale=", "--protocol=", "--config=", "--args=")
    assert words == ["-m", "snakemake", "--logger", "tallsbi", "--cores", "all"]


def test_settings_come_last_and_whole(start):
    words = start("--scale=paper", "--config=seed=7 'toy={noise: [0, 1]}'", "--args=--dry-run toy")
    assert words[4:] == [
        "--cores", "all", "--dry-run", "toy", "--config", "scale=paper", "seed=7", "toy={noise: [0, 1]}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("sbibm.sets=3 seed=7", ["seed=7", 'sbibm={"sets": 3}']),
        ("toy.mala.draws=3 toy.n_obs=[1, 8]", ['toy={"mala": {"draws": 3}, "n_obs": [1, 8]}']),
        ("toy={seeds: 2} toy.mala.draws=3", ['toy={"seeds": 2, "mala": {"draws": 3}}']),
        ("toy={noise: [0, 1]} sbibm.tasks=[sir]", ["toy={noise: [0, 1]}", 'sbibm={"tasks": ["sir"]}']),
        ("ddim.eta.50=1e-3", ['ddim={"eta": {"50": "1e-3"}}']),
    ],
)
def test_dotted_keys_become_blocks(start, config, words):
    assert start(f"--config={config}")[7:] == words


@pytest.mark.parametrize("value", ["smoke; touch x", "$(touch x)", "`touch x`", "a\nb", "'", "--unlock"])
def test_scale_is_one_word_whatever_it_holds(start, value):
    assert start(f"--scale={value}")[-1] == f"scale={value}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config='a"], "No closing quotation"),
        (["--config=seed"], "'seed' is not of the form key=value"),
        (["--config=--unlock"], "not of the form"),
        (["--config=seed=1 toy.seeds=2 seed=3"], "seed is given twice"),
        (["--config=.seeds=2"], "not of the form"),
        (["--args='a"], "ARGS"),
    ],
)
def test_text_that_cannot_be_words_is_explained(start, arguments, message):
    with pytest.raises(SystemExit, match=message):
        main(PROJECT, ["run", *arguments])


@pytest.mark.parametrize("words", ["--config seed=1", "--config=seed=1", "-C seed=1", "--configfile x.yaml"])
def test_settings_in_the_wrong_place_are_refused(start, capsys, words):
    assert main(PROJECT, ["run", f"--args={words}"]) == 2
    assert "CONFIG='key=value ...'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "run"),
    [
        ([], "smoke"),
        (["--scale=laptop"], "laptop"),
        (["--protocol=stated"], "smoke-stated"),
        (["--config=run=trial seed=1"], "trial"),
        (["--scale=laptop", "--config=scale=paper"], "paper"),
    ],
)
def test_the_guard_looks_at_the_run_that_is_meant(start, monkeypatch, arguments, run):
    names = []
    monkeypatch.setattr(guard, "prepare", lambda root, name: names.append(name) or [])
    start(*arguments)
    assert names == [run]


@pytest.mark.parametrize("arguments", [["--args=-n"], ["--args=-np"], ["--config=run=../x"], ["--scale=a b"]])
def test_dry_runs_and_bad_names_change_nothing(start, monkeypatch, arguments):
    monkeypatch.setattr(guard, "prepare", lambda root, name: pytest.fail("looked"))
    start(*arguments)


def test_a_busy_directory_stops_with_the_message_alone(start, monkeypatch, capsys):
    def busy(root, name):
        raise guard.Busy("Another run works here.")

    monkeypatch.setattr(guard, "prepare", busy)
    assert main(PROJECT, ["run"]) == 1
    assert capsys.readouterr().err == "Another run works here.\n"


def test_a_run_with_settings_of_its_own_says_where_it_goes(start, capsys):
    start("--config=seed=7 run=trial", "--args=-n")
    assert capsys.readouterr().err == "Results go to results/trial\n"
    start("--config=seed=7", "--args=--list-rules")
    start()
    assert capsys.readouterr().err == ""


def test_what_was_cleared_is_said(start, monkeypatch, capsys):
    monkeypatch.setattr(guard, "prepare", lambda root, name: ["one", "two"])
    start()
    assert capsys.readouterr().err == "Taking up the work: one; two.\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scale: [smoke\nprotocol: x", "config.yaml, line 2: not usable as YAML"),
        ("", "config.yaml, line 1: the file is empty"),
        ("# nothing\n", "config.yaml, line 1: the file is empty"),
        ("- 1\n", "config.yaml, line 1: must be a mapping"),
        ("scale: smoke\ntoy:\n\tseeds: 1\n", "config.yaml, line 3: .*the line holds a tab: use spaces"),
        ("scale: smoke\nscale: x\n", "config.yaml, line 2: .*the key `scale` is given twice"),
        ("protocol: published", "config.yaml: scale is missing; add a line `scale: ...`"),
    ],
)
def test_a_damaged_configuration_is_told_without_a_traceback(start, text, message):
    Path("config.yaml").write_text(text)
    with pytest.raises(SystemExit, match=message):
        main(PROJECT, ["run"])

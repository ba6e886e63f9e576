"""The settings that `make` passes to a command, and the run they mean.

`--config` is split into words as a shell would, quotes included, but no shell sees it: a value cannot become a
command.
"""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tallsbi.runner.config import ConfigError, read_yaml, run_name


@dataclass(frozen=True)
class Run:
    """A run of the study in the repository at `root`; `settings` are `key=value` for Snakemake's --config."""

    root: Path
    name: str
    settings: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its results are, below `root`."""
        return Path("results") / self.name


def options(description: str) -> argparse.ArgumentParser:
    """A parser of the settings that `make` passes on."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", help="default: from config.yaml")
    parser.add_argument("--protocol", help="default: from config.yaml")
    parser.add_argument("--config", default="", help="more settings, as 'key=value ...'")
    return parser


def chosen_run(given: argparse.Namespace, root: Path) -> Run:
    """The run that the options mean. Their values are not checked here: the Snakefile does that."""
    settings = _settings(given)
    config, problems = read_yaml(root, "config.yaml")
    pairs = [word.partition("=") for word in settings]
    chosen = {key: value for key, _, value in pairs if key in ("scale", "protocol", "run")}
    lacking = [key for key in ("scale", "protocol") if key not in config | chosen]
    problems = problems or [f"config.yaml: {key} is missing; add a line `{key}: ...`" for key in lacking]
    if problems:
        raise SystemExit(str(ConfigError(problems)))
    return Run(root, run_name(config | chosen), tuple(settings))


def words(text: str, name: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SystemExit(f"{name}={text!r} cannot be split into words: {error}") from error


def _settings(given: argparse.Namespace) -> list[str]:
    """The options as Snakemake's --config takes them."""
    named = [f"{key}={getattr(given, key)}" for key in ("scale", "protocol") if getattr(given, key)]
    more = words(given.config, "CONFIG")
    for word in more:
        if nested := re.match(r"(\w+)\.([\w.]+)=(.*)", word):
            outer, inner, value = nested.groups()
            block = f"{inner}: {value}"
            while "." in inner:
                inner, _, last = inner.rpartition(".")
                block = f"{inner}: {{{last}: {value}}}"
            raise SystemExit(
                f"CONFIG={given.config!r}: a key below another is given in its block: "
                f"CONFIG='\"{outer}={{{block}}}\"'"
            )
        if not re.match(r"\w+=", word):
            raise SystemExit(
                f"CONFIG={given.config!r}: {word!r} is not of the form key=value; quote what holds spaces"
            )
    return named + more

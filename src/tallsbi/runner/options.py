"""The settings that `make` passes to a command, and the run they mean.

`--config` is split into words as a shell would, quotes included, but no shell sees it: a value cannot become a
command. A key below another is given with dots: `sbibm.sets=3`.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tallsbi.runner.config import ConfigError, merge, name_from_files, plain, read_yaml, run_name

_SETTING = re.compile(r"(\w+(?:\.[\w-]+)*)=(.*)", re.DOTALL)


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

    @property
    def options(self) -> list[str]:
        """The settings as options of Snakemake."""
        return ["--config", *self.settings] if self.settings else []

    def over_file(self) -> tuple[dict, list[str]]:
        """config.yaml with the settings over it, and what is wrong with the file."""
        return _over_file(self.root, dict(setting.split("=", 1) for setting in self.settings))


def settings_parser(description: str) -> argparse.ArgumentParser:
    """A parser of the settings that `make` passes on."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", help="default: from config.yaml")
    parser.add_argument("--protocol", help="default: from config.yaml")
    parser.add_argument("--config", default="", help="more settings, as 'key=value ...'")
    return parser


def chosen_run(given: argparse.Namespace, root: Path) -> Run:
    """The run that the options mean. Their values are not checked here: the Snakefile does that."""
    settings = _settings(given)
    top, problems = _over_file(root, settings)
    missing = [key for key in ("scale", "protocol") if key not in top]
    problems = problems or [f"config.yaml: {key} is missing; add a line `{key}: ...`" for key in missing]
    if problems:
        raise SystemExit(str(ConfigError(problems)))
    name = name_from_files(top, root)
    if name != run_name(top):
        settings["run"] = name
    return Run(root, name, tuple(f"{key}={text}" for key, text in settings.items()))


def _over_file(root: Path, settings: Mapping[str, str]) -> tuple[dict, list[str]]:
    config, problems = read_yaml(root, "config.yaml")
    return merge(config, plain({key: _yaml_value(text) for key, text in settings.items()})), problems


def split_words(text: str, name: str) -> list[str]:
    """The words of a variable of `make`, split as a shell would; `name` is its name, for the message."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SystemExit(f"{name}={text!r} cannot be split into words: {error}") from error


def _settings(given: argparse.Namespace) -> dict[str, str]:
    """The options as Snakemake's --config takes them: a key of the top level, and its value or block as text."""
    settings = {key: getattr(given, key) for key in ("scale", "protocol") if getattr(given, key)}
    seen: set[str] = set()
    blocks: dict[str, Any] = {}
    for word in _rejoined(split_words(given.config, "CONFIG")):
        if not (match := _SETTING.fullmatch(word)):
            raise SystemExit(
                f"CONFIG={given.config!r}: {word!r} is not of the form key=value; quote what holds spaces"
            )
        path, text = match[1], match[2]
        if path in seen:
            raise SystemExit(f"CONFIG={given.config!r}: {path} is given twice; keep one of them")
        seen.add(path)
        key, *inner = path.split(".")
        if inner:
            block: Any = _yaml_value(text)
            for name in reversed(inner):
                block = {name: block}
            blocks[key] = merge(blocks.get(key, {}), block)
        else:
            settings[key] = text
    for key, block in blocks.items():
        merged = merge(_yaml_value(settings[key]), block) if key in settings else block
        settings[key] = json.dumps(merged, ensure_ascii=False)
    return settings


def _rejoined(parts: list[str]) -> Iterator[str]:
    """The words, with those joined again that a space inside brackets has split: `n_obs=[1, 8]`."""
    word = ""
    for part in parts:
        word = f"{word} {part}" if word else part
        if sum(map(word.count, "[{")) <= sum(map(word.count, "]}")):
            yield word
            word = ""
    if word:
        yield word


def _yaml_value(text: str) -> Any:
    """What a value means as YAML; text that is not YAML stays text."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text

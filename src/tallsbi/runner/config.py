"""The configuration of a study: merge its layers, check the result, report every problem at once.

There are three layers, and later ones win: workflow/scales/<scale>.yaml, workflow/protocols/<protocol>.yaml, and
config.yaml with Snakemake's `--config`. workflow/schemas/config.schema.yaml says what a key may hold. The study
passes its own rules between keys (`ConfigRules`).
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tallsbi.runner.config_errors import ConfigError, Layers, breach_messages
from tallsbi.runner.config_schema import (
    MISSING,
    Validator,
    child,
    closest,
    did_you_mean,
    dotted,
    inline,
    leaves,
    look_up,
    schema_at,
    shorten,
)

SCHEMA = "workflow/schemas/config.schema.yaml"
LAYER_FOLDERS = {"scale": "workflow/scales", "protocol": "workflow/protocols"}
LAYER_CONTENTS = {"scale": "a scale holds sizes only", "protocol": "a protocol holds fidelity switches only"}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")

ConfigRules = Callable[[dict, Layers, tuple[str, ...]], Iterable[str]]
"""Finds problems between keys, given the merged configuration, its layers and the problems the schema has found."""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # the one in C is ten times as fast
    """YAML, except that a key given twice is an error: plain YAML silently keeps the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                problem = f"the key `{name}` is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_yaml(root: Path, name: str) -> tuple[dict, list[str]]:
    """The mapping in a YAML file of the repository, and what is wrong with the file."""
    try:
        text = (root / name).read_text(encoding="utf-8")
        data = yaml.load(text, Loader=Loader)
    except UnicodeDecodeError as error:
        return {}, [f"{name}: not usable as YAML: {error}"]
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        line = f", line {mark.line + 1}" if mark else ""
        if mark and "\t" in "".join(text.splitlines()[mark.line : mark.line + 1]):
            problem += "; the line holds a tab: use spaces"
        return {}, [f"{name}{line}: not usable as YAML: {problem}"]
    if data is None:
        return {}, [f"{name}, line 1: the file is empty, it must be a mapping of keys to values"]
    if not isinstance(data, dict):
        return {}, [f"{name}, line 1: must be a mapping of keys to values, found {shorten(data)}"]
    return plain(data), []


def load_schema(root: Path | str) -> dict:
    """The schema as one mapping; its sections are files of their own, which config.schema.yaml refers to."""

    @functools.cache
    def read(path: Path) -> dict:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)

    return inline(read, Path(root) / SCHEMA)


def plain(value: Any) -> Any:
    """A copy made of plain dicts and lists. Keys become text: `50:` and `"50":` are the same key here."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def merge(base: Any, over: Any) -> Any:
    """`over` on top of `base`: mappings merge, everything else replaces."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return base | {key: merge(base.get(key), item) for key, item in over.items()}


def choose_methods(merged: dict, top: dict, file: dict | None) -> dict:
    """Keep the methods that config.yaml (or the command line) names, in the order of config.yaml.

    A scale gives only sizes: deleting the line of a method in config.yaml takes it out of the study. The order comes
    from the file because Snakemake puts first what the command line sets.
    """
    rest, names = {key: item for key, item in merged.items() if key != "methods"}, top.get("methods", MISSING)
    if not isinstance(names, dict):
        return rest if names is MISSING else merged
    listed = look_up(file, ("methods",))
    ordered = [name for name in listed if name in names] if isinstance(listed, dict) else []
    return rest | {"methods": {name: merged["methods"][name] for name in [*ordered, *names]}}


def coerce(value: Any, node: dict | None) -> Any:
    """Turn text into a number where the schema wants a number, and an integer into text where it wants text.

    Snakemake hands over the inner values of `--config 'toy={seeds: 2}'` as text, and YAML reads 1e-3 as text;
    `run=5` is a name.
    """
    if isinstance(value, dict):
        return {key: coerce(item, child(node, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [coerce(item, child(node, 0)) for item in value]
    wanted = (node or {}).get("type")
    if wanted in ("integer", "number") and isinstance(value, str) and NUMBER.fullmatch(value):
        return int(value) if re.fullmatch(r"[-+]?\d+", value) else float(value)
    return str(value) if wanted == "string" and type(value) is int else value


def overlay_problems(layer: str, name: str, data: dict, schema: dict) -> list[str]:
    """Known keys that do not belong in this overlay. The schema check reports the unknown ones."""
    nodes = {path: schema_at(schema, path) for path, _ in leaves(data)}
    return [
        f"{dotted(path)} does not belong in {name}: {LAYER_CONTENTS[layer]}; set it in config.yaml"
        for path, node in nodes.items()
        if node is not None and node.get("x-layer") != layer
    ]


def read_overlay(layer: str, top: dict, root: Path, schema: dict) -> tuple[str, dict, list[str]]:
    """File name and content of the overlay that `top` names, and what is wrong with either."""
    folder, name = LAYER_FOLDERS[layer], top.get(layer)
    available = overlays(root, layer)
    if name not in available:
        text = f"{layer} = {shorten(name)}: no such {layer}" if layer in top else f"{layer} is missing"
        text += f"; available: {', '.join(available)} (the files of {folder})"
        return f"{folder}/<{layer}>.yaml", {}, [text + did_you_mean(closest(name, available))]
    file = f"{folder}/{name}.yaml"
    data, problems = read_yaml(root, file)
    return file, data, problems + overlay_problems(layer, file, data, schema)


def overlays(root: Path, layer: str) -> list[str]:
    """The names of all scales, or of all protocols."""
    return sorted(path.stem for path in (root / LAYER_FOLDERS[layer]).glob("*.yaml"))


def resolve(config: Mapping, root: Path | str, rules: ConfigRules) -> dict:
    """The full configuration: `config` (config.yaml and --config) over its protocol over its scale, checked.

    Raises ConfigError with every problem.
    """
    root, top, schema = Path(root), plain(config), load_schema(root)
    file, file_problems = read_yaml(root, "config.yaml") if (root / "config.yaml").is_file() else (None, [])
    scale_file, scale, scale_problems = read_overlay("scale", top, root, schema)
    protocol_file, protocol, protocol_problems = read_overlay("protocol", top, root, schema)
    layers = Layers(top, None if file_problems else file, {protocol_file: protocol, scale_file: scale})
    merged = _merged(top, scale, protocol, layers.file, schema)
    if name := _name_by_changes(merged, layers.file, scale, protocol, schema):
        merged["run"] = name

    problems = file_problems + scale_problems + protocol_problems
    complete = scale and protocol  # without an overlay its keys are missing; naming them would hide the cause
    for error in Validator(schema).iter_errors(merged):
        already_reported = error.absolute_path and error.absolute_path[0] in LAYER_FOLDERS
        if not already_reported and (complete or error.validator != "required"):
            problems += breach_messages(error, schema, layers)
    problems += rules(merged, layers, tuple(problems))
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return merged


def _merged(top: dict, scale: dict, protocol: dict, file: dict | None, schema: dict) -> dict:
    return coerce(choose_methods(merge(merge(scale, protocol), top), top, file), schema)


def load_or_exit(config: Mapping, root: Path | str, rules: ConfigRules) -> dict:
    """`resolve` for the Snakefile: a bad configuration prints its message alone and ends with code 1.

    Snakemake puts the lines of the Snakefile around any exception except SystemExit.
    """
    try:
        return resolve(config, root, rules)
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


def check_file_or_exit(root: Path) -> None:
    """Ends with one message if config.yaml is no YAML that can be used, before Snakemake reads it."""
    problems = read_yaml(root, "config.yaml")[1]
    if problems:
        print(ConfigError(problems), file=sys.stderr)
        sys.exit(1)


def is_run_name(name: str) -> bool:
    """Whether the name is plain, as the schema demands: it cannot point outside results/."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._~+-]{0,63}", name) is not None


def run_name(config: Mapping) -> str:
    """The directory under results/: `run` if given, else the scale, and the protocol unless published.

    `resolve` gives a `run` to a configuration with settings from the command line.
    """
    if config.get("run"):
        return str(config["run"])
    suffix = "" if config["protocol"] == "published" else f"-{config['protocol']}"
    return f"{config['scale']}{suffix}"


def _name_by_changes(
    merged: dict, file: dict | None, scale: dict, protocol: dict, schema: dict
) -> str | None:
    """A name for a run whose settings differ from config.yaml, so that it does not overwrite the results of another."""
    if file is None or "run" in merged or not {"scale", "protocol"} <= merged.keys():
        return None
    unchanged = _merged(file, scale, protocol, file, schema)
    changed = {
        dotted(path): value
        for path, value in leaves(merged)
        if path[0] not in LAYER_FOLDERS and repr(look_up(unchanged, path)) != repr(value)
    }
    if not changed:
        return None
    name = "-".join([run_name(merged), *(f"{key}~{_name_part(changed[key])}" for key in sorted(changed))])
    if is_run_name(name):
        return name
    digest = hashlib.sha256(repr(sorted(changed.items())).encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9._~+-]+', '_', name).lstrip('._~+-')[:50]}~{digest}"


def _name_part(value: Any) -> str:
    return "+".join(map(_name_part, value)) if isinstance(value, list) else str(value)


def name_from_files(top: dict, root: Path) -> str:
    """`run_name` of the configuration that `resolve` would make of `top`, without checking it."""
    schema_file, folders = root / SCHEMA, {layer: root / folder for layer, folder in LAYER_FOLDERS.items()}
    chosen = {layer: folder / f"{top.get(layer)}.yaml" for layer, folder in folders.items()}
    if not schema_file.is_file() or not all(path.is_file() for path in chosen.values()):
        return run_name(top)  # the Snakefile explains what is wrong
    file = read_yaml(root, "config.yaml")[0]
    scale, protocol = (
        read_yaml(root, f"{LAYER_FOLDERS[layer]}/{top[layer]}.yaml")[0] for layer in LAYER_FOLDERS
    )
    schema = load_schema(root)
    merged = _merged(top, scale, protocol, file, schema)
    return _name_by_changes(merged, file, scale, protocol, schema) or run_name(merged)

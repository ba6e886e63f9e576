"""The configuration of the study: merge its layers, check the result, explain what is wrong.

Three layers make it, the later ones win: workflow/scales/<scale>.yaml, workflow/protocols/<protocol>.yaml,
and config.yaml with Snakemake's `--config`. What a key may hold is in workflow/schemas/config.schema.yaml;
this module turns a breach of it into a message with the key, the file it is set in, and what is allowed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema.exceptions import ValidationError

from tallsbi.runner.config_schema import (
    MISSING,
    KeyPath,
    Validator,
    allowed,
    child,
    close,
    did_you_mean,
    dotted,
    is_number,
    leaves,
    look_up,
    schema_at,
    schema_leaves,
    shorten,
)
from tallsbi.study.config_rules import Layers, Rules

SCHEMA = "workflow/schemas/config.schema.yaml"
FOLDERS = {"scale": "workflow/scales", "protocol": "workflow/protocols"}
HOLDS = {"scale": "a scale holds sizes only", "protocol": "a protocol holds fidelity switches only"}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class ConfigError(ValueError):
    """Everything that is wrong with a configuration; `problems` has one text per problem."""

    def __init__(self, problems: list[str]):
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = [f"  {i}. {text}" for i, text in enumerate(problems, 1)]
        head, foot = f"The configuration has {count}:", "Every key is described in docs/config.md."
        super().__init__("\n".join([head, *lines, foot]))


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # the C one is ten times as fast
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
        data = yaml.load((root / name).read_text(encoding="utf-8"), Loader=Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        return {}, [f"{name}{line}: not usable as YAML: {getattr(error, 'problem', None) or error}"]
    if not isinstance(data, dict):
        return {}, [f"{name}: must be a mapping of keys to values, found {shorten(data)}"]
    return plain(data), []


def plain(value: Any) -> Any:
    """A copy of plain dicts and lists. Keys become text: `50:` and `"50":` are the same key here."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def merge(base: Any, over: Any) -> Any:
    """`over` laid on `base`: mappings merge, everything else replaces."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return base | {key: merge(base.get(key), item) for key, item in over.items()}


def choose_methods(merged: dict, top: dict, file: dict | None) -> dict:
    """Keep the methods that config.yaml (or the command line) names, in the order of config.yaml.

    A scale only gives sizes: a method leaves the study when its line in config.yaml is deleted. The order
    is taken from the file because Snakemake puts what the command line sets first.
    """
    rest, names = {key: item for key, item in merged.items() if key != "methods"}, top.get("methods", MISSING)
    if not isinstance(names, dict):
        return rest if names is MISSING else merged
    listed = look_up(file, ("methods",))
    ordered = [name for name in listed if name in names] if isinstance(listed, dict) else []
    return rest | {"methods": {name: merged["methods"][name] for name in [*ordered, *names]}}


def coerce(value: Any, node: dict | None) -> Any:
    """Turn text into a number where the schema wants a number, and a whole number into text where it wants text.

    Snakemake hands over the inner values of `--config 'toy={seeds: 2}'` as text, and YAML reads 1e-3 as text;
    `run=5` is a name.
    """
    if isinstance(value, dict):
        return {key: coerce(item, child(node, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [coerce(item, child(node, 0)) for item in value]
    wanted = node is not None and node.get("type") in ("integer", "number")
    if wanted and isinstance(value, str) and NUMBER.fullmatch(value):
        return int(value) if re.fullmatch(r"[-+]?\d+", value) else float(value)
    if node is not None and node.get("type") == "string" and type(value) is int:
        return str(value)
    return value


def unknown_key(path: KeyPath, schema: dict, layers: Layers) -> str:
    """The message for a key the schema does not have, with the key that was probably meant."""
    parent, key, known = path[:-1], str(path[-1]), schema_leaves(schema)
    node = schema_at(schema, parent) or {}
    rule = next(iter(node.get("patternProperties", {})), "")
    in_use = look_up(layers.top, parent)  # where names are free, those in use are the ones to suggest
    others = [name for name in in_use if child(node, name)] if isinstance(in_use, dict) else []
    near = close(key, [*node.get("properties", {}), *others])
    guesses = [dotted((*parent, near))] if near else []
    elsewhere = [name for name in known if name.split(".")[-1] == key]
    if not near and not elsewhere:
        far = close(key, {name.split(".")[-1] for name in known})
        guesses = [name for name in known if name.split(".")[-1] == far]
    text = f"{dotted(path)}: unknown key (from {layers.origin(path)})"
    text += f"; a name here must match {rule.split('$')[0]}$" if rule else ""
    text += f"; `{key}` exists at {', '.join(elsewhere)}" if elsewhere else ""
    return text + did_you_mean(*guesses)


def missing_key(path: KeyPath, schema: dict, layers: Layers) -> str:
    node = schema_at(schema, path) or {}
    protocol, scale = layers.overlays
    files = {"scale": f"{scale} or config.yaml", "protocol": f"{protocol} or config.yaml"}
    text = f"{dotted(path)} is missing: set it in {files.get(node.get('x-layer'), 'config.yaml')}"
    example = f" (`{path[1]}: {{{path[2]}: 400}}`)" if path[0] == "methods" and len(path) == 3 else ""
    return f"{text}{example} to {allowed(node)}"


def translate(error: ValidationError, schema: dict, layers: Layers) -> list[str]:
    """The messages for one breach of the schema."""
    path, value, node = tuple(error.absolute_path), error.instance, error.schema
    if error.validator == "additionalProperties":
        extra = [key for key in value if child(node, key) is None]
        return [unknown_key((*path, key), schema, layers) for key in extra]
    if error.validator == "required":
        lacking = [key for key in node["required"] if key not in value]
        return [missing_key((*path, key), schema, layers) for key in lacking]
    text = f"{layers.found(path, value)}: must be {allowed(node)}"
    if isinstance(value, float) and not is_number(value):
        text += "; NaN and infinity do not count as numbers"
    if error.validator == "minProperties":
        text += "; at least one is needed"
    if error.validator == "uniqueItems":
        text += f"; repeated: {shorten([item for i, item in enumerate(value) if item in value[:i]])}"
    if error.validator == "enum":
        text += did_you_mean(close(value, [str(item) for item in node["enum"]]))
    return [text]


def overlay_problems(layer: str, name: str, data: dict, schema: dict) -> list[str]:
    """Known keys that do not belong in this overlay. Unknown ones come out of the schema check."""
    found = [(path, schema_at(schema, path)) for path, _ in leaves(data)]
    foreign = [path for path, node in found if node is not None and node.get("x-layer") != layer]
    return [
        f"{dotted(path)} does not belong in {name}: {HOLDS[layer]}; set it in config.yaml" for path in foreign
    ]


def read_overlay(layer: str, top: dict, root: Path, schema: dict) -> tuple[str, dict, list[str]]:
    """File name and content of the overlay that `top` names, and what is wrong with either."""
    folder, name = FOLDERS[layer], top.get(layer)
    available = sorted(path.stem for path in (root / folder).glob("*.yaml"))
    if name not in available:
        text = f"{layer} = {shorten(name)}: no such {layer}" if layer in top else f"{layer} is missing"
        text += f"; available: {', '.join(available)} (the files of {folder})"
        return f"{folder}/<{layer}>.yaml", {}, [text + did_you_mean(close(name, available))]
    file = f"{folder}/{name}.yaml"
    data, problems = read_yaml(root, file)
    return file, data, problems + overlay_problems(layer, file, data, schema)


def load_schema(root: Path | str) -> dict:
    return yaml.load((Path(root) / SCHEMA).read_text(encoding="utf-8"), Loader=Loader)


def resolve(config: Mapping, root: Path | str, known_methods: Collection[str] | None = None) -> dict:
    """The full configuration: `config` (config.yaml and --config) over its protocol over its scale, checked.

    `known_methods` are the names of the algorithms there are; by default those of tallsbi.algorithms.
    Raises ConfigError with every problem found.
    """
    root, top, schema = Path(root), plain(config), load_schema(root)
    if known_methods is None:
        from tallsbi import algorithms

        known_methods = algorithms.names()
    file, wrong_file = read_yaml(root, "config.yaml") if (root / "config.yaml").is_file() else (None, [])
    scale_file, scale, wrong_scale = read_overlay("scale", top, root, schema)
    protocol_file, protocol, wrong_protocol = read_overlay("protocol", top, root, schema)
    layers = Layers(top, None if wrong_file else file, {protocol_file: protocol, scale_file: scale})
    merged = coerce(choose_methods(merge(merge(scale, protocol), top), top, layers.file), schema)

    problems = wrong_file + wrong_scale + wrong_protocol
    complete = scale and protocol  # without an overlay its keys are missing; saying so would hide the cause
    for error in Validator(schema).iter_errors(merged):
        reported = error.absolute_path and error.absolute_path[0] in FOLDERS
        if not reported and (complete or error.validator != "required"):
            problems += translate(error, schema, layers)
    problems += Rules(merged, layers, tuple(problems)).problems(known_methods)
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return merged


def load_or_exit(config: Mapping, root: Path | str) -> dict:
    """`resolve` for the Snakefile: a bad configuration prints its message alone and ends with code 1.

    Snakemake puts the lines of the Snakefile around any exception but SystemExit.
    """
    try:
        return resolve(config, root)
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


def is_run_name(name: str) -> bool:
    """Whether the name is a plain one, as the schema wants it: no way out of results/."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


def run_name(config: Mapping) -> str:
    """The directory under results/: `run` if given, else the scale, and the protocol unless published."""
    if config.get("run"):
        return str(config["run"])
    suffix = "" if config["protocol"] == "published" else f"-{config['protocol']}"
    return f"{config['scale']}{suffix}"

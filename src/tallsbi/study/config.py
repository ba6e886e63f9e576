"""The configuration of the study: merge its layers, check the result, explain what is wrong.

Three layers make it, the later ones win: workflow/scales/<scale>.yaml, workflow/protocols/<protocol>.yaml,
and config.yaml with Snakemake's `--config`. What a key may hold is in workflow/schemas/config.schema.yaml;
this module turns a breach of it into a message with the key, the file it is set in, and what is allowed.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonschema.exceptions import ValidationError

from tallsbi.study.config_schema import (
    MISSING,
    KeyPath,
    Validator,
    allowed,
    child,
    dotted,
    is_number,
    leaves,
    look_up,
    schema_at,
    schema_leaves,
    shorten,
)

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


@dataclass(frozen=True)
class Layers:
    """The layers before merging, to tell where a value was set."""

    top: dict  # what Snakemake handed over: config.yaml and the command line
    file: dict | None  # config.yaml alone, if it can be read
    overlays: dict[str, dict]  # file name -> content: the protocol, then the scale

    def origin(self, path: KeyPath) -> str:
        value = look_up(self.top, path)
        if value is MISSING:
            found = (name for name, data in self.overlays.items() if look_up(data, path) is not MISSING)
            return next(found, "config.yaml")
        # Compared as text, for NaN differs from itself.
        same = self.file is None or repr(look_up(self.file, path)) == repr(value)
        return "config.yaml" if same else "the command line"

    def found(self, path: KeyPath, value: Any) -> str:
        return f"{dotted(path)} = {shorten(value)} (from {self.origin(path)})"


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
    """Turn text into a number where the schema wants a number.

    Snakemake hands over the inner values of `--config 'toy={seeds: 2}'` as text, and YAML reads 1e-3 as text.
    """
    if isinstance(value, dict):
        return {key: coerce(item, child(node, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [coerce(item, child(node, 0)) for item in value]
    wanted = node is not None and node.get("type") in ("integer", "number")
    if wanted and isinstance(value, str) and NUMBER.fullmatch(value):
        return int(value) if re.fullmatch(r"[-+]?\d+", value) else float(value)
    return value


def close(word: Any, candidates: Collection[str]) -> str:
    """The candidate nearest to a misspelt word, or ''. Case does not count."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(str(word).lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""


def did_you_mean(*names: str) -> str:
    """The end of a message, so that its question mark closes it."""
    quoted = " or ".join(f"`{name}`" for name in names if name)
    return f"; did you mean {quoted}?" if quoted else ""


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


def cross_problems(config: dict, layers: Layers, refused: list[str]) -> list[str]:
    """Rules between keys, which a schema cannot say. Lists the schema refused are passed over."""
    problems = []
    cells = [
        ("table.dim", "dims"),
        ("table.n_obs", "n_obs"),
        ("table.noise", "noise"),
        ("figure_dim", "dims"),
    ]
    for cell, name in [*cells, ("table.dim", "timing.dims"), ("table.n_obs", "timing.n_obs")]:
        path, where = ("toy", *cell.split(".")), ("toy", *name.split("."))
        value, grid = look_up(config, path), look_up(config, where)
        usable = is_number(value) and isinstance(grid, list)
        usable = usable and not any(text.startswith((f"toy.{name} ", f"toy.{name}[")) for text in refused)
        if usable and value not in grid:
            problems.append(f"{layers.found(path, value)}: must be one of {layers.found(where, grid)}")
    path = ("toy", "wide_prior", "std")
    pair = look_up(config, path)
    if isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)) and pair[0] >= pair[1]:
        problems.append(f"{layers.found(path, pair)}: the first must be less than the second")
    return problems


def method_problems(config: dict, known: Collection[str], layers: Layers) -> list[str]:
    """Methods without an algorithm, and settings that their algorithm does not take."""
    from tallsbi.algorithms import names as with_source
    from tallsbi.algorithms import settings_of

    methods, known = config.get("methods"), sorted(name.upper() for name in known)
    problems = []
    for name, settings in (methods if isinstance(methods, dict) else {}).items():
        if name.isupper() and name not in known:
            problems.append(
                f"methods.{name}: no such algorithm (from {layers.origin(('methods', name))}); it needs the "
                f"file src/tallsbi/algorithms/{name.lower()}.py; available: {', '.join(known)}"
                + did_you_mean(close(name, known))
            )
        elif name in with_source() and isinstance(settings, dict):
            takes = ["studies", *settings_of(name)]
            problems += [
                f"{layers.found(('methods', name, key), value)}: {name} has no such setting; it takes "
                + ", ".join(takes)
                for key, value in settings.items()
                if key not in takes
            ]
    return problems


def benchmark_problems(config: dict, layers: Layers) -> list[str]:
    """Tasks without a file, and numbers that exceed what is simulated."""
    from tallsbi.algorithms import names as algorithms
    from tallsbi.tasks import names

    known, methods, problems = names(), algorithms(), []
    listings = [(("tasks",), known), (("extra_tasks",), known), (("steps", "tasks"), known)]
    listings += [
        (("many", "tasks"), known),
        (("many", "methods"), methods),
        (("partial", "methods"), methods),
    ]
    for key, available in listings:
        path, kind = ("sbibm", *key), "method" if key[-1] == "methods" else "task"
        listed = look_up(config, path)
        for name in listed if isinstance(listed, list) else []:
            if isinstance(name, str) and name not in available:
                problems.append(
                    f"{layers.found(path, listed)}: no {kind} `{name}`; available: {', '.join(available)}"
                    + did_you_mean(close(name, available))
                )
    limits = [("sbibm", "n_train", "simulations"), ("sbibm", "n_obs", "observations")]
    for study, key, most in [*limits, ("jrnmm", "n_obs", "observations")]:
        values, limit = look_up(config, (study, key)), look_up(config, (study, most))
        if _numbers(values) and is_number(limit) and max(values, default=0) > limit:
            problems.append(
                f"{layers.found((study, key), values)}: no more than {layers.found((study, most), limit)}"
            )
    for path in [("fidelity", "jrnmm_sigma"), *(("jrnmm", "bounds", name) for name in ("C", "mu", "g"))]:
        pair = look_up(config, path)
        if _numbers(pair) and len(pair) == 2 and pair[0] >= pair[1]:
            problems.append(f"{layers.found(path, pair)}: the first must be less than the second")
    return problems


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


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
    problems += method_problems(merged, known_methods, layers) + cross_problems(merged, layers, problems)
    problems += benchmark_problems(merged, layers)
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

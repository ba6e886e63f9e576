"""What is wrong with a configuration, in words: the key, the value, the file that sets it, and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jsonschema.exceptions import ValidationError

from tallsbi.runner.config_schema import (
    MISSING,
    KeyPath,
    allowed,
    child,
    closest,
    did_you_mean,
    dotted,
    is_number,
    look_up,
    schema_at,
    schema_leaves,
    shorten,
)


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
    """The layers of a configuration before they are merged; they show where a value was set."""

    top: dict  # what Snakemake handed over: config.yaml and the command line
    file: dict | None  # config.yaml alone, if it can be read
    overlays: dict[str, dict]  # file name -> content: the protocol, then the scale

    def origin(self, path: KeyPath) -> str:
        value = look_up(self.top, path)
        if value is MISSING:
            holders = (name for name, data in self.overlays.items() if look_up(data, path) is not MISSING)
            return next(holders, "config.yaml")
        # Compared as text, because NaN differs from itself.
        same = self.file is None or repr(look_up(self.file, path)) == repr(value)
        return "config.yaml" if same else "the command line"

    def quote(self, path: KeyPath, value: Any) -> str:
        """A key with its value and origin, the start of most messages."""
        return f"{dotted(path)} = {shorten(value)} (from {self.origin(path)})"


def breach_messages(error: ValidationError, schema: dict, layers: Layers) -> list[str]:
    """The messages for one breach of the schema."""
    path, value, node = tuple(error.absolute_path), error.instance, error.schema
    if error.validator == "additionalProperties":
        return [_unknown_key((*path, key), schema, layers) for key in value if child(node, key) is None]
    if error.validator == "required":
        return [_missing_key((*path, key), schema, layers) for key in node["required"] if key not in value]
    text = f"{layers.quote(path, value)}: must be {allowed(node)}"
    if isinstance(value, float) and not is_number(value):
        text += "; NaN and infinity do not count as numbers"
    if error.validator == "minProperties":
        text += "; at least one is needed"
    if error.validator == "uniqueItems":
        text += f"; repeated: {shorten([item for i, item in enumerate(value) if item in value[:i]])}"
    if error.validator == "enum":
        text += did_you_mean(closest(value, [str(item) for item in node["enum"]]))
    return [text]


def _unknown_key(path: KeyPath, schema: dict, layers: Layers) -> str:
    """The message for a key that the schema does not have, with the key that was probably meant."""
    parent, key, known = path[:-1], str(path[-1]), schema_leaves(schema)
    node = schema_at(schema, parent) or {}
    pattern = next(iter(node.get("patternProperties", {})), "")
    in_use = look_up(layers.top, parent)  # where any name may stand, suggest those in use
    others = [name for name in in_use if child(node, name)] if isinstance(in_use, dict) else []
    sibling = closest(key, [*node.get("properties", {}), *others])
    guesses = [dotted((*parent, sibling))] if sibling else []
    elsewhere = [name for name in known if name.split(".")[-1] == key]
    if not sibling and not elsewhere:
        similar = closest(key, {name.split(".")[-1] for name in known})
        guesses = [name for name in known if name.split(".")[-1] == similar]
    text = f"{dotted(path)}: unknown key (from {layers.origin(path)})"
    text += f"; a name here must match {pattern.split('$')[0]}$" if pattern else ""
    text += f"; `{key}` exists at {', '.join(elsewhere)}" if elsewhere else ""
    return text + did_you_mean(*guesses)


def _missing_key(path: KeyPath, schema: dict, layers: Layers) -> str:
    node = schema_at(schema, path) or {}
    protocol, scale = layers.overlays
    files = {"scale": f"{scale} or config.yaml", "protocol": f"{protocol} or config.yaml"}
    text = f"{dotted(path)} is missing: set it in {files.get(node.get('x-layer'), 'config.yaml')}"
    example = f" (`{path[1]}: {{{path[2]}: 400}}`)" if path[0] == "methods" and len(path) == 3 else ""
    return f"{text}{example} to {allowed(node)}"

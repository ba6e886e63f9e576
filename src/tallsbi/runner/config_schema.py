"""The schema of the configuration: what it says about a key, and the same in words.

A key is a path of names and list positions. The validator is stricter than JSON Schema about numbers.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend

MISSING = object()

KeyPath = tuple[str | int, ...]


def inline(read: Callable[[Path], dict], file: Path, pointer: str = "") -> dict:
    """The schema in a file, or the part that the JSON pointer names, with its references (`$ref`) replaced.

    As in JSON Schema a reference names a file relative to its own, `common.yaml#/$defs/n_obs`; keys beside it win.
    """

    def resolved(node: Any) -> Any:
        if isinstance(node, list):
            return [resolved(item) for item in node]
        if not isinstance(node, dict):
            return node
        siblings = {key: resolved(item) for key, item in node.items() if key != "$ref"}
        if "$ref" not in node:
            return siblings
        name, _, inner = node["$ref"].partition("#")
        return inline(read, file.parent / name if name else file, inner) | siblings

    part = look_up(read(file), tuple(pointer.strip("/").split("/")) if pointer else ())
    if part is MISSING:
        raise KeyError(f"{file} has no {pointer}, to which another part of the schema refers")
    return resolved(part)


def child(node: dict | None, key: str | int) -> dict | None:
    """The schema of one key (or list item) below `node`; None if the schema has none."""
    if node is None:
        return None
    if isinstance(key, int):
        return node.get("items")
    if key in node.get("properties", {}):
        return node["properties"][key]
    rules = node.get("patternProperties", {})
    return next((sub for rule, sub in rules.items() if re.search(rule, key)), None)


def schema_at(schema: dict, path: KeyPath) -> dict | None:
    return reduce(child, path, schema)


def schema_leaves(node: dict, path: tuple[str, ...] = ()) -> dict[str, dict]:
    """Dotted key -> schema, for each key that holds a value; free names appear as the schema's x-name."""
    branches = list(node.get("properties", {}).items())
    branches += [(node["x-name"], sub) for sub in node.get("patternProperties", {}).values()]
    if not branches:
        return {".".join(path): node}
    return {key: leaf for name, sub in branches for key, leaf in schema_leaves(sub, (*path, name)).items()}


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """(path, value) of everything in nested mappings that is not a mapping."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def look_up(data: Any, path: KeyPath) -> Any:
    for key in path:
        if not isinstance(data, list if isinstance(key, int) else dict):
            return MISSING
        if (key >= len(data)) if isinstance(key, int) else (key not in data):
            return MISSING
        data = data[key]
    return data


def dotted(path: KeyPath) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def shorten(value: Any, width: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= width else text[: width - 3] + "..."


def bounds(node: dict) -> str:
    if "minimum" in node and "maximum" in node:
        return f" from {node['minimum']} to {node['maximum']}"
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "greater than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    parts = [f" {text} {node[key]}" for key, text in words.items() if key in node]
    return " and".join(parts)


def allowed(node: dict) -> str:
    """What the schema allows for one value, in words."""
    if "x-allowed" in node:
        return node["x-allowed"]
    if "enum" in node:
        return "one of " + ", ".join(map(str, node["enum"]))
    if node["type"] == "array":
        fewest, words = node["minItems"], {0: "any number", 1: "one or more"}
        size = fewest if fewest == node.get("maxItems") else words[fewest]
        unique = ", no two equal" if node.get("uniqueItems") else ""
        return f"a list of {size}, each {allowed(node['items'])}{unique}"
    if node["type"] == "object":
        names = ", ".join(node.get("properties", {}))
        return "a mapping " + (
            f"with the keys {names}" if names else f"from {node['x-name']} to its settings"
        )
    return {"integer": "an integer", "number": "a number", "string": "text"}[node["type"]] + bounds(node)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))


# Stricter than JSON Schema: 5.0 is no integer (it would break ranges), NaN and infinity are no numbers (every
# comparison with NaN is false, so it would pass any bounds).
STRICT_TYPES = {"integer": lambda _, value: is_int(value), "number": lambda _, value: is_number(value)}
TYPE_CHECKER = Draft202012Validator.TYPE_CHECKER.redefine_many(STRICT_TYPES)
Validator = extend(Draft202012Validator, type_checker=TYPE_CHECKER)


def closest(word: Any, candidates: Collection[str]) -> str:
    """The candidate closest to a misspelt word, or ''. Case does not count."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    nearest = difflib.get_close_matches(str(word).lower(), by_lower, n=1)
    return by_lower[nearest[0]] if nearest else ""


def did_you_mean(*names: str) -> str:
    """The end of a message: the names that were probably meant, if there are any."""
    quoted = " or ".join(f"`{name}`" for name in names if name)
    return f"; did you mean {quoted}?" if quoted else ""

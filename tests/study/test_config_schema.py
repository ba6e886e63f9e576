"""Schema, files and docs of the configuration say the same, and the schema is strict."""

from __future__ import annotations

import copy
import difflib
import re

import pytest
from config_docs import TABLE_HEAD, docs_table, wildcard
from config_files import FILES, ROOT, SCHEMA, load

from tallsbi.runner.config_schema import Validator, leaves, schema_leaves


def schema_keys() -> set[str]:
    return set(schema_leaves(SCHEMA))


def file_keys() -> set[str]:
    files = [ROOT / "config.yaml", *FILES["scale"], *FILES["protocol"]]
    return {wildcard(path) for file in files for path, _ in leaves(load(file))}


def docs_keys() -> set[str]:
    text = (ROOT / "docs/config.md").read_text(encoding="utf-8").split(TABLE_HEAD)[1]
    return {re.match(r"\| `([^`]+)` \|", line)[1] for line in text.splitlines() if line.startswith("|")}


def optional_keys() -> set[str]:
    """Keys that a layer may leave out: the run's name, and the settings only some methods have."""
    return {
        "run",
        *(key for key in schema_keys() if key.startswith("methods.") and not key.endswith(".steps")),
    }


def test_files_have_the_keys_of_the_schema():
    files, schema = file_keys(), schema_keys()
    unset = schema - files - optional_keys()
    assert files <= schema, f"in a configuration file but not in the schema: {sorted(files - schema)}"
    assert not unset, f"in the schema but in no configuration file: {sorted(unset)}"


def test_docs_have_the_keys_of_the_schema():
    docs, schema = docs_keys(), schema_keys()
    assert docs == schema, f"only in docs: {sorted(docs - schema)}; only in schema: {sorted(schema - docs)}"


def test_docs_table_is_up_to_date():
    old = (ROOT / "docs/config.md").read_text(encoding="utf-8").split(TABLE_HEAD)[1]
    kept = [comparable(line) for line in old.splitlines()]
    new = [comparable(line) for line in docs_table().removeprefix(TABLE_HEAD).splitlines()]
    diff = "\n".join(difflib.unified_diff(kept, new, "docs/config.md", "schema and layers", lineterm="", n=0))
    assert not diff, f"run `python tests/helpers/config_docs.py` to update the table\n{diff}"


def comparable(line: str) -> str:
    """A row without the value from config.yaml, for that file is there to be edited."""
    _, key, allowed, value, meaning, _ = line.split("|")
    node = schema_leaves(SCHEMA).get(key.strip(" `"), {})
    return "|".join([key, allowed, value if "x-layer" in node else " ", meaning])


def nodes(node: dict, path: str = ""):
    """Every subschema with its place."""
    yield path, node
    for word in ("properties", "patternProperties"):
        for key, sub in node.get(word, {}).items():
            yield from nodes(sub, f"{path}.{key}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")


def lapses(schema: dict) -> list[str]:
    """Where the schema is laxer than we want it: open mappings, empty lists, unbounded or free values."""
    return [path for path, node in nodes(schema) if not (strict(path, node) and complete(path, node))]


def strict(path: str, node: dict) -> bool:
    kind = "enum" if "enum" in node else node.get("type")
    if kind == "object":
        return node.get("additionalProperties") is False and bool(
            {"properties", "patternProperties"} & set(node)
        )
    if kind == "array":
        fixed = node.get("minItems") == node.get("maxItems")  # a pair is no grid: its two values may be equal
        enough = node.get("minItems", -1) >= (0 if path in MAY_BE_EMPTY else 1)
        return enough and "items" in node and (fixed or node.get("uniqueItems") is True)
    if kind in ("integer", "number"):
        low, high = {"minimum", "exclusiveMinimum"} & set(node), {"maximum", "exclusiveMaximum"} & set(node)
        return bool(low and (high or path in UNBOUNDED))
    return "pattern" in node if kind == "string" else kind == "enum"


def complete(path: str, node: dict) -> bool:
    """It is described, and what it holds is required, except where leaving it out means something."""
    free = set(node.get("properties", {})) - set(node.get("required", []))
    needed = {"steps"} & free if path.startswith(".methods.") else free - {"run"}
    return ("description" in node or path.endswith("[]") or path == "") and not needed


METHOD = r".methods.^[A-Z][A-Z0-9_]*$(?!\n)"
# Lists that may be empty: what they hold is left out then.
MAY_BE_EMPTY = {".sbibm.extra_tasks", ".sbibm.beyond_tasks", ".sbibm.bounds_tasks", ".sbibm.cells"}
# No largest sensible value: any seed is a seed, a step size or a demand can be as large as one likes.
UNBOUNDED = {".seed", f"{METHOD}.tau", f"{METHOD}.ratio", ".toy.mala.min_ess"}


def test_schema_is_strict_everywhere():
    Validator.check_schema(SCHEMA)
    assert lapses(SCHEMA) == []


WORDS = (
    "additionalProperties minItems uniqueItems minimum exclusiveMinimum maximum pattern required description"
)


@pytest.mark.parametrize("word", WORDS.split())
def test_a_laxer_schema_is_noticed(word):
    """Take the keyword out of one place at a time; each time the walk must notice."""
    count = sum(word in node for _, node in nodes(SCHEMA))
    assert count
    for index in range(count):
        schema = copy.deepcopy(SCHEMA)
        path, node = [(path, node) for path, node in nodes(schema) if word in node][index]
        del node[word]
        assert lapses(schema), f"{word} taken from {path or 'the top'}"

"""The table of docs/config.md, made from the schema and the layers.

python tests/helpers/config_docs.py     rewrites it
"""

from __future__ import annotations

from config_files import FILES, ROOT, SCHEMA, load

from tallsbi.runner.config_schema import allowed, child, leaves, schema_leaves

TABLE_HEAD = "| key | allowed | value | meaning |\n| --- | --- | --- | --- |\n"


def wildcard(path: tuple) -> str:
    """The path with free names as the schema writes them: methods.<NAME>.steps."""
    node, names = SCHEMA, []
    for key in path:
        names.append(key if key in node.get("properties", {}) else node.get("x-name", key))
        node = child(node, key) or {}
    return ".".join(names)


def value_text(key: str, data: dict) -> str:
    values = {path: value for path, value in leaves(data) if wildcard(path) == key}
    name = next((i for i, part in enumerate(key.split(".")) if part.startswith("<")), -1)
    words = [f"{path[name]} {value}" if "<" in key else str(value) for path, value in values.items()]
    return ", ".join(words)


def row(key: str, node: dict) -> str:
    files = FILES.get(node.get("x-layer"), [ROOT / "config.yaml"])
    values = {file.stem: value_text(key, load(file)) or "not set" for file in files}
    first, *others = values.values()
    if {*others} - {first}:
        value = "; ".join(f"{name}: {text}" for name, text in values.items())
    else:
        value = f"all {node['x-layer']}s: {first}" if "x-layer" in node else first
    return f"| `{key}` | {allowed(node)} | {value} | {node['description']} |\n"


def docs_table() -> str:
    return TABLE_HEAD + "".join(row(*item) for item in schema_leaves(SCHEMA).items())


if __name__ == "__main__":
    page = ROOT / "docs/config.md"
    page.write_text(page.read_text(encoding="utf-8").split(TABLE_HEAD)[0] + docs_table(), encoding="utf-8")

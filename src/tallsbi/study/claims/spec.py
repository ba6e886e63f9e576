"""Reads the claims and checks them against workflow/schemas/claims.schema.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from tallsbi.study.claims.views import SOURCES

SCHEMA = Path("workflow/schemas/claims.schema.yaml")


class ClaimsError(ValueError):
    """The file of claims is wrong; the message has a line per problem."""


def read(path: str | Path, schema: str | Path = SCHEMA) -> dict[str, Any]:
    """The checked content: `variants` and `claims`."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ClaimsError(f"{path}: not YAML ({error})") from error
    problems = check(content, yaml.safe_load(Path(schema).read_text(encoding="utf-8")))
    if problems:
        raise ClaimsError("\n".join(f"{path}: {problem}" for problem in problems))
    return content


def check(content: Any, schema: Mapping[str, Any]) -> list[str]:
    """What is wrong with the claims, a line per problem, each naming the claim and the key."""
    errors = sorted(
        Draft202012Validator(schema).iter_errors(content), key=lambda error: list(map(str, error.path))
    )
    problems = [_told(error, content) for error in errors]
    if problems:
        return problems
    ids = [claim["id"] for claim in content["claims"]]
    problems = [
        f"claims: {name} is there {ids.count(name)} times" for name in sorted(set(ids)) if ids.count(name) > 1
    ]
    for claim in content["claims"]:
        for name in claim.get("variants", []):
            if name not in content["variants"]:
                problems.append(
                    f"{claim['id']}.variants: no variant `{name}`; there is {', '.join(content['variants'])}"
                )
        for leaf in leaves(claim["test"]):
            if leaf["data"] not in SOURCES:
                problems.append(
                    f"{claim['id']}.test.data = {leaf['data']}: no such data; there is {', '.join(SOURCES)}"
                )
    return problems


def leaves(test: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tests a conjunction is made of."""
    if "of" not in test:
        return [test]
    return [leaf for part in test["of"] for leaf in leaves(part)]


def _told(error: ValidationError, content: Any) -> str:
    """The most telling of the errors below this one, with the claim's id in place of its position."""
    inner = error
    if error.context:
        # Of several alternatives, the one that is meant has the type of what is there.
        close = [each for each in error.context if each.validator != "type"] or error.context
        inner = max(close, key=lambda each: len(each.path))
    path = [*error.absolute_path, *(inner.path if inner is not error else [])]
    if path[:1] == ["claims"] and len(path) > 1 and isinstance(content["claims"][path[1]], dict):
        path = [content["claims"][path[1]].get("id", f"claims[{path[1]}]"), *path[2:]]
    return f"{'.'.join(map(str, path)) or 'the file'}: {inner.message}"

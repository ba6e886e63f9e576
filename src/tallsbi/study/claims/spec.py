"""The claims as workflow/resources/claims writes them, checked against workflow/schemas/claims.schema.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from tallsbi.study.claims.files import ClaimsError, load
from tallsbi.study.claims.views import SOURCES

SCHEMA = Path("workflow/schemas/claims.schema.yaml")
_DEFAULT_SCALES = {"compare": "ratio", "trend": "log"}  # the other kinds are linear

Conditions = Mapping[str, Any]
"""Column: condition, in the language of `select`."""


@dataclass(frozen=True)
class SingleTest:
    """One test; docs/claims.md explains the fields."""

    kind: str
    data: str
    expect: str | Mapping[str, Any]
    label: str = ""
    where: Conditions = field(default_factory=dict)
    needs: Mapping[str, float] = field(default_factory=dict)
    each: tuple[str, ...] = ()
    some: tuple[str, ...] = ()
    value: str = ""
    unit: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    x: str = ""
    left: Conditions = field(default_factory=dict)
    right: Conditions = field(default_factory=dict)
    condition: Conditions = field(default_factory=dict)
    scale: str = ""
    average: str = ""
    aggregate: str = "mean"
    noise: float = 0.0

    @property
    def logarithmic(self) -> bool:
        """Whether values are compared by their logarithms."""
        return (self.scale or _DEFAULT_SCALES.get(self.kind)) in ("ratio", "log")

    @property
    def expected(self) -> tuple[float, float]:
        """The open range of the test's number: of a ratio, a difference, a slope, a share or the value itself."""
        ratio = self.kind == "compare" and self.logarithmic
        neutral = 1.0 if ratio else 0.0
        match self.expect:
            case "less":
                return -np.inf, neutral
            case "greater":
                return neutral, np.inf
            case {"about": margin}:
                return (1 / (1 + margin), 1 + margin) if ratio else (-margin, margin)
            case {"below": bound}:
                return -np.inf, bound
            case {"above": bound}:
                return bound, np.inf
            case {"between": (low, high)}:
                return float(low), float(high)
        raise ClaimsError(f"expect = {self.expect!r}: write less, greater, below, above, between or about")


@dataclass(frozen=True)
class Combination:
    """Several tests, of which `all` or `any` must hold."""

    kind: str
    of: tuple[Test, ...]


Test = SingleTest | Combination


@dataclass(frozen=True)
class Option:
    """One setting of a fidelity switch, and the rows that show its data."""

    name: str
    value: str | float | bool
    where: Conditions


@dataclass(frozen=True)
class Variant:
    """A fidelity switch that may decide a claim, and the views that have rows for each of its options."""

    switch: str
    data: tuple[str, ...]
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Claim:
    """What the paper claims and prints, and the test that decides it."""

    id: str
    section: str
    claim: str
    printed: str
    test: Test
    variants: tuple[Variant, ...] = ()
    switches: tuple[str, ...] = ()
    """Switches that may decide the claim and have one value per run."""
    note: str = ""
    """What is known beside the numbers, such as a closed form; the reading ends with it."""


def read(folder: str | Path, schema: str | Path = SCHEMA) -> list[Claim]:
    """The claims of a folder, checked."""
    content = load(folder)
    problems = check(content, yaml.safe_load(Path(schema).read_text(encoding="utf-8")))
    if problems:
        raise ClaimsError("\n".join(f"{folder}: {problem}" for problem in problems))
    variants = {
        name: Variant(
            entry["switch"], tuple(entry["data"]), tuple(Option(**option) for option in entry["options"])
        )
        for name, entry in content["variants"].items()
    }
    return [
        Claim(
            **{
                **entry,
                "test": parse_test(entry["test"]),
                "variants": tuple(variants[name] for name in entry.get("variants", ())),
                "switches": tuple(entry.get("switches", ())),
            }
        )
        for entry in content["claims"]
    ]


def parse_test(entry: Mapping[str, Any]) -> Test:
    """A test that the schema has accepted."""
    if "of" in entry:
        return Combination(entry["kind"], tuple(map(parse_test, entry["of"])))
    columns = {key: tuple(entry[key]) for key in ("each", "some", "unit", "over") if key in entry}
    return SingleTest(**{**entry, **columns})


def single_tests(test: Test) -> list[SingleTest]:
    """The tests that a combination is made of."""
    return (
        [test]
        if isinstance(test, SingleTest)
        else [single for inner in test.of for single in single_tests(inner)]
    )


def check(content: Any, schema: Mapping[str, Any]) -> list[str]:
    """What is wrong with the claims, a line per problem, each naming the claim and the key."""
    errors = Draft202012Validator(schema).iter_errors(content)
    problems = [
        _message(error, content) for error in sorted(errors, key=lambda error: list(map(str, error.path)))
    ]
    if problems:
        return problems
    ids = [claim["id"] for claim in content["claims"]]
    problems = [
        f"claims: {name} is there {ids.count(name)} times" for name in sorted(set(ids)) if ids.count(name) > 1
    ]
    for claim in content["claims"]:
        problems += [
            f"{claim['id']}.variants: no variant `{name}`; there is {', '.join(content['variants'])}"
            for name in claim.get("variants", [])
            if name not in content["variants"]
        ]
        problems += [
            f"{claim['id']}.test.data = {test.data}: no such data; there is {', '.join(SOURCES)}"
            for test in single_tests(parse_test(claim["test"]))
            if test.data not in SOURCES
        ]
    return problems


def _message(error: ValidationError, content: Any) -> str:
    """The most specific of the errors below this one, with the claim's id in place of its position."""
    inner = error
    if error.context:
        # Of several alternatives, the one that is meant accepts the type of the value.
        candidates = [other for other in error.context if other.validator != "type"] or error.context
        inner = max(candidates, key=lambda other: len(other.path))
    path = [*error.absolute_path, *(inner.path if inner is not error else [])]
    if path[:1] == ["claims"] and len(path) > 1 and isinstance(content["claims"][path[1]], dict):
        path = [content["claims"][path[1]].get("id", f"claims[{path[1]}]"), *path[2:]]
    return f"{'.'.join(map(str, path)) or 'the file'}: {inner.message}"

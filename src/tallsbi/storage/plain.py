"""Dataclasses of numbers, strings and tuples as JSON objects, and back."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def to_json(values: Any) -> dict[str, Any]:
    """The fields of a dataclass; tuples become lists."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(values).items()}


def from_json(kind: type[Kind], values: Mapping[str, Any], section: str) -> Kind:
    """Rebuilds the dataclass. A field that is left out keeps its default; an unknown name is refused."""
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in known:
            raise ValueError(
                f"{section}.{name} = {value!r}: there is no such setting; there are {', '.join(known)}."
            )
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})

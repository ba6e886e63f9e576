"""What all settings share: plain values for the `params:` of a rule, and back again with checks.

    @dataclass(frozen=True)
    class Draws(Settings):
        samples: int
        n_obs: tuple[int, ...]

        def __post_init__(self):
            self.require("samples", self.samples >= 1, "at least 1")

`Draws(50, (1, 8)).as_params()` is what a rule passes, `Draws.from_params(job.settings)` what its script reads. Fields
are numbers, strings, other settings (or dataclasses with `to_json` and `from_json`), and tuples, dictionaries or
`| None` of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind", bound="Settings")
_REMEDY = "correct what the rule passes in its params"


class SettingsError(ValueError):
    """Settings that a stage cannot use."""


class Settings:
    """Mixin of frozen dataclasses."""

    def as_params(self) -> dict[str, Any]:
        """Dictionaries, lists, numbers and strings only: Snakemake compares them to decide what reruns."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_params(cls: type[Kind], values: Mapping[str, Any]) -> Kind:
        """Rebuilt from `as_params`; every field must be there and nothing else."""
        known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
        for key, value in values.items():
            if key not in known:
                raise SettingsError(
                    f"{cls.__name__}.{key} = {value!r}: there is no such setting, only {', '.join(known)}; {_REMEDY}."
                )
        missing = [key for key in known if key not in values]
        if missing:
            raise SettingsError(f"{cls.__name__}: no value for {', '.join(missing)}; {_REMEDY}.")
        return cls._typed(values)

    @classmethod
    def take(cls: type[Kind], *sections: Mapping[str, Any], **given: Any) -> Kind:
        """From sections of a configuration by the names of the fields: `given` wins, then the first section."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        return cls._typed(
            {name: section[name] for section in (*sections[::-1], given) for name in names if name in section}
        )

    @classmethod
    def _typed(cls: type[Kind], values: Mapping[str, Any]) -> Kind:
        hints = get_type_hints(cls)
        return cls(
            **{key: _typed(value, hints[key], f"{cls.__name__}.{key}") for key, value in values.items()}
        )

    def require(self, name: str, met: bool, condition: str) -> None:
        """Refuses the value of a field unless `met`; `condition` completes "it must be ..."."""
        if not met:
            raise SettingsError(
                f"{type(self).__name__}.{name} = {getattr(self, name)!r}: it must be {condition}; {_REMEDY}."
            )


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return value.as_params()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.to_json() if hasattr(value, "to_json") else value


def _typed(value: Any, kind: Any, name: str) -> Any:
    """`value` as the annotation `kind` says, or an error that names the field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        (kind,) = [argument for argument in arguments if argument is not NoneType]
        return _typed(value, kind, name)
    if origin is tuple and isinstance(value, (list, tuple)):
        kinds = [arguments[0]] * len(value) if arguments[-1] is ... else list(arguments)
        if len(kinds) == len(value):
            return tuple(
                _typed(item, item_kind, f"{name}[{i}]")
                for i, (item, item_kind) in enumerate(zip(value, kinds, strict=True))
            )
    elif origin is dict and isinstance(value, Mapping):
        return {key: _typed(item, arguments[1], f"{name}.{key}") for key, item in value.items()}
    elif isinstance(kind, type) and issubclass(kind, Settings) and isinstance(value, (Mapping, kind)):
        return value if isinstance(value, kind) else kind.from_params(value)
    elif hasattr(kind, "from_json") and isinstance(value, Mapping):
        return kind.from_json(value)
    elif kind is Any or _is_a(value, kind):
        return value
    expected = getattr(kind, "__name__", str(kind)) if origin is None else str(kind)
    raise SettingsError(f"{name} = {value!r}: expected {expected}; {_REMEDY}.")


def _is_a(value: Any, kind: Any) -> bool:
    """As `isinstance`, but a boolean is no number, and a whole number will do where a float is expected."""
    if not isinstance(kind, type) or (isinstance(value, bool) and kind is not bool):
        return False
    return isinstance(value, (int, float) if kind is float else kind)

"""The named algorithms, and methods made of them: an algorithm with its settings, plain or with `-clip`.

One file per algorithm: the algorithm NAME lives in `tallsbi/algorithms/<name>.py` (lower case) and is the class
called `ALGORITHM` there. Nothing else has to know of it, and nothing is imported before it is asked for, so that a
change to one algorithm reruns the jobs of that algorithm only. `register` adds one from elsewhere, for this process.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallsbi.algorithms.base import Algorithm

CLIP_SUFFIX = "-clip"
_REGISTERED: dict[str, type[Algorithm]] = {}


@dataclass(frozen=True)
class SharedSettings:
    """What a configuration says for all methods at once.

    `clip`: half-width of the box of a `-clip` method. `eta`: DDIM's churn by the number of steps, `eta_default` for
    any other number. `switch_over` and `prior_term`: those of `tallsbi.compose.base.WeightedScore` and
    `tallsbi.compose.fnpse.FactorisedScore`.
    """

    clip: float
    eta: Mapping[int, float]
    eta_default: float
    switch_over: float
    prior_term: str = "diffused"


def names() -> list[str]:
    """Every algorithm there is a file for, and every registered one."""
    files = {module.name.upper() for module in pkgutil.iter_modules(__path__) if not module.ispkg}
    return sorted((files - {"BASE"}) | _REGISTERED.keys())


def base_name(name: str) -> str:
    """The algorithm behind a method: `JAC` for `JAC-clip`."""
    return name.removesuffix(CLIP_SUFFIX)


def register(name: str, algorithm: type[Algorithm]) -> None:
    """Makes `algorithm` available as `name` in this process."""
    if name in names():
        raise ValueError(f"Algorithm {name!r} exists already; choose another name.")
    _REGISTERED[name] = algorithm


def module_of(name: str) -> str:
    """Dotted name of the module that holds the algorithm, for code fingerprints."""
    base = _known(name)
    return _REGISTERED[base].__module__ if base in _REGISTERED else f"{__name__}.{base.lower()}"


def settings_of(name: str) -> list[str]:
    """The settings an algorithm takes, read off its source: importing it would load torch."""
    base = _known(name)
    if base in _REGISTERED:
        return _REGISTERED[base].settings()
    module = module_of(base)
    (chosen,) = [
        node.value.id
        for node in _statements(module)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and [getattr(target, "id", None) for target in node.targets] == ["ALGORITHM"]
    ]
    return [field for field in dict.fromkeys(_fields(chosen, module)) if field != "clip"]


def _fields(name: str, module: str) -> list[str]:
    """Annotated names of a class, its parents' first, as in its dataclass; none for a class outside tallsbi."""
    for node in _statements(module):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            source = node.module or ""
            return _fields(name, source) if source.startswith("tallsbi.") else []
        if isinstance(node, ast.ClassDef) and node.name == name:
            parents = [parent.id for parent in reversed(node.bases) if isinstance(parent, ast.Name)]
            inherited = [field for parent in parents for field in _fields(parent, module)]
            annotated = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
            return inherited + [target.id for target in annotated if isinstance(target, ast.Name)]
    return []


def _statements(module: str) -> list[ast.stmt]:
    path = Path(__path__[0]).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8")).body


def load(name: str) -> type[Algorithm]:
    """The algorithm's class; `NAME-clip` gives that of NAME."""
    base = _known(name)
    if base in _REGISTERED:
        return _REGISTERED[base]
    return importlib.import_module(module_of(base)).ALGORITHM


def check_settings(name: str, settings: Mapping[str, Any], label: str) -> None:
    """Refuses settings that the algorithm does not have; `label` says where `{key}` was given."""
    allowed = load(name).settings()
    for key, value in settings.items():
        if key not in allowed:
            raise ValueError(
                f"{label.format(key=key)} = {value!r}: {name} has no such setting; it takes {', '.join(allowed)}."
            )


def build(name: str, settings: Mapping[str, Any], *, clip: float = 3.0) -> Algorithm:
    """The algorithm with these settings; a `-clip` suffix keeps its state in [-clip, clip]."""
    check_settings(name, settings, f"methods.{name}.{{key}}")
    return load(name)(**settings, clip=clip if name.endswith(CLIP_SUFFIX) else None)


def configured(name: str, settings: Mapping[str, Any], shared: SharedSettings) -> Algorithm:
    """The algorithm of a method, from its own settings and the shared ones.

    The setting `algorithm` names it where the name of the method does not.
    """
    chosen = dict(settings)
    base = base_name(name)
    name = chosen.pop("algorithm", base) + name.removeprefix(base)
    accepted = load(name).settings()
    if "eta" in accepted:
        chosen["eta"] = shared.eta.get(chosen["steps"], shared.eta_default)
    for key in ("switch_over", "prior_term"):
        if key in accepted:
            chosen[key] = getattr(shared, key)
    return build(name, chosen, clip=shared.clip)


def _known(name: str) -> str:
    base = base_name(name)
    available = names()
    if base not in available:
        close = difflib.get_close_matches(base.upper(), available, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(
            f"Unknown algorithm {name!r}; available: {', '.join(available)} (each also with {CLIP_SUFFIX}){hint}"
        )
    return base

"""The named algorithms: GAUSS, JAC, LANGEVIN, DET_GEF, TAMED, each also with `-clip`.

One file per algorithm: the algorithm NAME lives in `tallsbi/algorithms/<name>.py` (lower case) and is the
object called `ALGORITHM` there. Nothing else has to know of it, and nothing is imported before it is asked
for, so that a change to one algorithm reruns the jobs of that algorithm only. `register` adds one from
elsewhere, for use in a session of one's own.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallsbi.algorithms.base import Algorithm

CLIP_SUFFIX = "-clip"
_REGISTERED: dict[str, type[Algorithm]] = {}


def names() -> list[str]:
    """Every algorithm there is a file for, and every registered one."""
    files = {module.name.upper() for module in pkgutil.iter_modules(__path__) if module.name != "base"}
    return sorted(files | _REGISTERED.keys())


def base_name(name: str) -> str:
    """The algorithm behind a name: `JAC` for `JAC-clip`."""
    return name.removesuffix(CLIP_SUFFIX)


def register(name: str, algorithm: type[Algorithm]) -> None:
    """Make `algorithm` available as `name` in this process."""
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
    classes: dict[str, ast.ClassDef] = {}
    for module in ("base", base.lower()):
        tree = ast.parse((Path(__path__[0]) / f"{module}.py").read_text(encoding="utf-8"))
        classes |= {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    (chosen,) = [node.value.id for node in assigned if node.targets[0].id == "ALGORITHM"]
    return [field for field in dict.fromkeys(_fields(chosen, classes)) if field != "clip"]


def _fields(name: str, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    if name not in classes:
        return []
    parents = [node.id for node in classes[name].bases if isinstance(node, ast.Name)]
    inherited = [field for parent in parents for field in _fields(parent, classes)]
    return inherited + [node.target.id for node in classes[name].body if isinstance(node, ast.AnnAssign)]


def load(name: str) -> type[Algorithm]:
    """The algorithm's class; `NAME-clip` gives that of NAME."""
    base = _known(name)
    if base in _REGISTERED:
        return _REGISTERED[base]
    return importlib.import_module(module_of(base)).ALGORITHM


def build(name: str, settings: Mapping[str, Any], *, clip: float = 3.0) -> Algorithm:
    """The algorithm with these settings; a `-clip` suffix keeps its state in [-clip, clip]."""
    algorithm = load(name)
    allowed = algorithm.settings()
    for key, value in settings.items():
        if key not in allowed:
            raise ValueError(
                f"methods.{name}.{key} = {value!r}: {name} has no such setting; it takes {', '.join(allowed)}."
            )
    return algorithm(**settings, **({"clip": clip} if name.endswith(CLIP_SUFFIX) else {}))


def configured(name: str, method: Mapping[str, Any], common: Mapping[str, Any]) -> Algorithm:
    """The algorithm from its own settings and those all share: `ddim`, `clip` and `switch_over`."""
    settings, accepted = dict(method), load(name).settings()
    if "eta" in accepted:
        table = {int(steps): eta for steps, eta in common["ddim"]["eta"].items()}
        settings["eta"] = table.get(settings["steps"], common["ddim"]["eta_default"])
    if "switch_over" in accepted:
        settings["switch_over"] = common["switch_over"]
    return build(name, settings, clip=common["clip"])


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

"""Fingerprints of the code a job runs: a job reruns when its own code changes, and only then.

A fingerprint covers the entry points of a job and every module of the package they import, directly or not
(`tallsbi.runner.syntax` says what counts in a file). It does not depend on the folder of the clone.

Imports are followed wherever they stand, also inside functions, except under ``if TYPE_CHECKING``. Names of modules
in strings (``importlib.import_module``) are not followed: that keeps registries lazy, and the caller names the
registered module as one more entry.

Only the standard library is imported here, and no module of the package is executed, because the workflow computes
fingerprints each time it starts.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tallsbi.runner.syntax import FingerprintError, Import, read_source

PACKAGE = "tallsbi"
SOURCES = "src"
DIGITS = 20


@dataclass(frozen=True)
class _File:
    """A file of the closure: `module` is its dotted name, or None for scripts and data."""

    label: str
    path: str
    module: str | None


def fingerprint(*entry: str | Path, root: Path) -> str:
    """The digest of everything reachable from the entry points.

    An entry is the dotted name of a module of the package, or the path of a file, absolute or relative to `root` (the
    folder that holds ``src/``). Imports of a Python file are followed; any other file counts with its bytes, line
    endings apart.
    """
    digest = hashlib.sha256()
    for file in _reachable(entry, root):
        digest.update(f"{file.label}\0{_digest(file.path)}\n".encode())
    return digest.hexdigest()[:DIGITS]


def closure(*entry: str | Path, root: Path) -> list[str]:
    """The sorted names of the package's modules reachable from the entry points."""
    return [file.module for file in _reachable(entry, root) if file.module is not None]


def _reachable(entries: Iterable[str | Path], root: Path) -> list[_File]:
    # Not grimp: scripts outside the package are entries too, ancestors' __init__ files and lazy imports must count,
    # and building a grimp graph takes longer than this whole walk.
    root = Path(root).resolve()
    modules = _modules(root / SOURCES)
    reached: dict[str, _File] = {}
    waiting = [file for entry in entries for file in _entry_files(entry, root, modules)]
    while waiting:
        file = waiting.pop()
        if file.label not in reached:
            reached[file.label] = file
            if file.path.endswith(".py"):
                waiting.extend(_imported(file, root, modules))
    return [reached[label] for label in sorted(reached)]


def _modules(sources: Path) -> dict[str, str]:
    """The path of every module of the package by its dotted name; a package has the path of its __init__."""
    top = sources / PACKAGE
    if not top.is_dir():
        raise FingerprintError(
            f"no package {PACKAGE} in {sources}: `root` must be the folder that holds {SOURCES}/"
        )
    modules: dict[str, str] = {}
    for folder, subfolders, files in os.walk(top):
        subfolders[:] = [name for name in subfolders if name.isidentifier() and name != "__pycache__"]
        parent = ".".join(Path(folder).relative_to(sources).parts)
        for stem, suffix in map(os.path.splitext, files):
            path = os.path.join(folder, stem + suffix)
            if suffix == ".py" and stem == "__init__":
                modules[parent] = path
            elif suffix == ".py":
                # A package hides a module of the same name, whichever comes first.
                modules.setdefault(f"{parent}.{stem}", path)
    return modules


def _is_in_package(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _entry_files(entry: str | Path, root: Path, modules: dict[str, str]) -> list[_File]:
    if isinstance(entry, str) and _is_in_package(entry):
        if entry not in modules:
            raise FingerprintError(
                f"no module {entry} in {root / SOURCES}: correct the entry or add the file"
            )
        return _with_ancestors(entry, modules)
    path = (root / entry).resolve()
    if not path.is_file():
        raise FingerprintError(f"no file {path}: an entry is a module of {PACKAGE} or the path of a file")
    for module, known in modules.items():
        if known == str(path):
            return _with_ancestors(module, modules)
    return [_script(path, root)]


def _script(path: Path, root: Path) -> _File:
    label = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return _File(label=label, path=str(path), module=None)


def _with_ancestors(module: str, modules: dict[str, str]) -> list[_File]:
    """The module and the packages above it, whose __init__ runs when the module is imported."""
    parts = module.split(".")
    names = (".".join(parts[: depth + 1]) for depth in range(len(parts)))
    return [_File(label=name, path=modules[name], module=name) for name in names if name in modules]


def _imported(file: _File, root: Path, modules: dict[str, str]) -> Iterator[_File]:
    for statement in read_source(file.path).imports:
        base = _absolute(statement, file)
        if _is_in_package(base):
            for target in _targets(base, statement, file, modules):
                yield from _with_ancestors(target, modules)
        elif file.module is None:
            # Scripts can import their neighbours, since Python puts the folder of a script on the path.
            neighbour = Path(file.path).parent / f"{base.split('.')[0]}.py"
            if neighbour.is_file():
                yield _script(neighbour, root)


def _absolute(statement: Import, file: _File) -> str:
    """The dotted name a statement imports from, relative imports resolved."""
    if statement.level == 0:
        return statement.module
    parts = file.module.split(".") if file.module is not None else []
    levels_up = statement.level - (1 if os.path.basename(file.path) == "__init__.py" else 0)
    if levels_up >= len(parts):
        raise FingerprintError(
            f"{file.path}, line {statement.line}: relative import beyond the package: "
            f"write it as `from {PACKAGE}...`"
        )
    return ".".join([*parts[: len(parts) - levels_up], *filter(None, [statement.module])])


def _targets(base: str, statement: Import, file: _File, modules: dict[str, str]) -> list[str]:
    """The modules a statement imports: its base, and the imported names that are submodules of it."""
    targets = [base] if base in modules else []
    for name in statement.names:
        if name == "*":
            targets += [known for known in modules if known.rpartition(".")[0] == base]
        elif f"{base}.{name}" in modules:
            targets.append(f"{base}.{name}")
    if not targets:
        raise FingerprintError(
            f"{file.path}, line {statement.line}: imports {base}, which is not in the package: "
            "correct the import or add the module"
        )
    return targets


def _digest(path: str) -> str:
    if path.endswith(".py"):
        return read_source(path).digest
    return hashlib.sha256(Path(path).read_bytes().replace(b"\r\n", b"\n")).hexdigest()

"""Fingerprints of the code a job runs, so that a job reruns when its own code changes and only then.

A fingerprint covers the entry points of a job and every module of the package they import, directly or
not. It is taken over syntax trees: comments, docstrings, formatting and file times leave it as it is, and
so do the version number of the package and a clone in another folder. Type annotations count, since they
define the fields of dataclasses.

Imports are followed wherever they stand, also inside functions, except under ``if TYPE_CHECKING``. Names
of modules in strings (``importlib.import_module``) are not followed: that keeps registries lazy, and the
caller names the registered module as one more entry.

Only the standard library is imported here, and no module of the package is executed, because the workflow
computes fingerprints each time it starts. Python versions may differ in the trees they build, so a new
Python version may rerun jobs.
"""

import ast
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

PACKAGE = "tallsbi"
SOURCES = "src"
DIGITS = 20

# What the parser says about the position of a name or the spelling of a literal, not about its meaning.
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


class FingerprintError(ValueError):
    """The code of a job cannot be read or followed."""


@dataclass(frozen=True)
class _Import:
    """One import statement: `names` is empty for ``import module``."""

    module: str
    names: tuple[str, ...]
    level: int
    line: int


@dataclass(frozen=True)
class _Source:
    """What is kept of one parsed file."""

    digest: str
    imports: tuple[_Import, ...]


@dataclass(frozen=True)
class _File:
    """A file of the closure: `module` is its dotted name, or None for scripts and data."""

    label: str
    path: str
    module: str | None


def fingerprint(*entry: str | Path, root: Path) -> str:
    """The digest of everything reachable from the entry points.

    An entry is the dotted name of a module of the package, or the path of a file, absolute or relative to
    `root` (the folder that holds ``src/``). A Python file is followed like a module; any other file counts
    with its bytes, line endings apart.
    """
    digest = hashlib.sha256()
    for file in _reachable(entry, root):
        digest.update(f"{file.label}\0{_digest(file.path)}\n".encode())
    return digest.hexdigest()[:DIGITS]


def closure(*entry: str | Path, root: Path) -> list[str]:
    """The sorted names of the package's modules reachable from the entry points."""
    return [file.module for file in _reachable(entry, root) if file.module is not None]


def _reachable(entries: Iterable[str | Path], root: Path) -> list[_File]:
    # A walk of its own and not grimp: scripts outside the package are entries too, ancestors' __init__
    # files and lazy imports must count, and building a grimp graph costs more than the whole walk.
    root = Path(root).resolve()
    modules = _modules(root / SOURCES)
    found: dict[str, _File] = {}
    waiting = [file for entry in entries for file in _entry_files(entry, root, modules)]
    while waiting:
        file = waiting.pop()
        if file.label in found:
            continue
        found[file.label] = file
        if file.path.endswith(".py"):
            waiting.extend(_imported(file, root, modules))
    return [found[label] for label in sorted(found)]


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
        for name in files:
            stem, suffix = os.path.splitext(name)
            if suffix != ".py":
                continue
            if stem == "__init__":
                modules[parent] = os.path.join(folder, name)
            else:
                # A package hides a module of the same name, whichever is met first.
                modules.setdefault(f"{parent}.{stem}", os.path.join(folder, name))
    return modules


def _entry_files(entry: str | Path, root: Path, modules: dict[str, str]) -> list[_File]:
    if isinstance(entry, str) and (entry == PACKAGE or entry.startswith(f"{PACKAGE}.")):
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
    for statement in _source(file.path).imports:
        base = _absolute(statement, file)
        if base == PACKAGE or base.startswith(f"{PACKAGE}."):
            for target in _targets(base, statement, file, modules):
                yield from _with_ancestors(target, modules)
        elif file.module is None:
            # Scripts can import their neighbours, since Python puts the folder of a script on the path.
            neighbour = Path(file.path).parent / f"{base.split('.')[0]}.py"
            if neighbour.is_file():
                yield _script(neighbour, root)


def _absolute(statement: _Import, file: _File) -> str:
    """The dotted name a statement imports from, relative imports resolved."""
    if statement.level == 0:
        return statement.module
    parts = file.module.split(".") if file.module is not None else []
    drop = statement.level - (1 if os.path.basename(file.path) == "__init__.py" else 0)
    if drop >= len(parts):
        raise FingerprintError(
            f"{file.path}, line {statement.line}: relative import beyond the package: "
            f"write it as `from {PACKAGE}...`"
        )
    kept = parts[: len(parts) - drop]
    return ".".join([*kept, statement.module] if statement.module else kept)


def _targets(base: str, statement: _Import, file: _File, modules: dict[str, str]) -> list[str]:
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
        return _source(path).digest
    return hashlib.sha256(Path(path).read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def _source(path: str) -> _Source:
    status = os.stat(path)
    return _parsed(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _parsed(path: str, mtime_ns: int, size: int) -> _Source:
    """The parsed file; its time and size are part of the cache key only."""
    text = Path(path).read_bytes()
    try:
        tree = ast.parse(text, filename=path)
    except SyntaxError as error:
        raise FingerprintError(
            f"{path}, line {error.lineno}: {error.msg}: correct the syntax error"
        ) from error
    except ValueError as error:
        raise FingerprintError(f"{path}: not Python source ({error}): restore the file") from error
    pieces: list[str] = []
    imports: list[_Import] = []
    _serialise(tree, pieces.append, imports.append)
    return _Source(
        hashlib.sha256("\n".join(pieces).encode("utf-8", "surrogatepass")).hexdigest(), tuple(imports)
    )


def _serialise(node: ast.AST, write: Callable[[str], None], found: Callable[[_Import], None]) -> None:
    """Writes the tree as text that says what runs, and reports the imports on the way.

    Unlike `ast.dump` it leaves out docstrings, statements without effect and empty fields; it is also
    several times faster than a pass that removes them, one that collects imports, and a dump.
    """
    kind = node.__class__
    if kind is ast.Import:
        for alias in node.names:
            found(_Import(alias.name, (), 0, node.lineno))
    elif kind is ast.ImportFrom:
        names = tuple(alias.name for alias in node.names)
        found(_Import(node.module or "", names, node.level, node.lineno))
    write(kind.__name__)
    for field in _fields(kind):
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            write(field)
            _serialise(value, write, found)
        elif value.__class__ is list:
            if value:
                write(f"{field}[")
                _serialise_items(value, write, found)
                write("]")
        elif value is not None:
            write(f"{field}={value!r}")
    write(")")


def _serialise_items(items: list, write: Callable[[str], None], found: Callable[[_Import], None]) -> None:
    for item in items:
        if item.__class__ is ast.If and _is_type_checking(item.test):
            _serialise_items(item.orelse, write, found)
        elif isinstance(item, ast.AST):
            if not _is_idle(item):
                _serialise(item, write, found)
        else:
            write(repr(item))


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(field for field in kind._fields if field not in _IGNORED_FIELDS)


def _is_idle(node: ast.AST) -> bool:
    """Whether a statement cannot change a result: `pass`, `...`, docstrings of any kind, the version."""
    if node.__class__ is ast.Expr:
        return node.value.__class__ is ast.Constant
    if node.__class__ is ast.Assign:
        # Every fingerprint covers the package's __init__, and a release as such must not rerun the study.
        return [getattr(target, "id", None) for target in node.targets] == ["__version__"]
    return node.__class__ is ast.Pass


def _is_type_checking(test: ast.expr) -> bool:
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING"
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"

"""What a Python file holds: a digest of what it runs, and its imports.

The digest is taken over the syntax tree: comments, docstrings, formatting and file times leave it as it is, and so
does the version number of the package. Type annotations count, since they define the fields of dataclasses. Python
versions may differ in the trees they build, so a new Python version may change digests.
"""

import ast
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

# What the parser says about the use of a name or the spelling of a literal, which does not change the meaning.
_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


class FingerprintError(ValueError):
    """The code of a job cannot be read or followed."""


@dataclass(frozen=True)
class Import:
    """One import statement: `names` is empty for ``import module``."""

    module: str
    names: tuple[str, ...]
    level: int
    line: int


@dataclass(frozen=True)
class Source:
    """What is kept of one parsed file."""

    digest: str
    imports: tuple[Import, ...]


def read_source(path: str) -> Source:
    status = os.stat(path)
    return _parsed(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _parsed(path: str, mtime_ns: int, size: int) -> Source:
    """The parsed file; its time and size are there as part of the cache key only."""
    try:
        tree = ast.parse(Path(path).read_bytes(), filename=path)
    except SyntaxError as error:
        raise FingerprintError(
            f"{path}, line {error.lineno}: {error.msg}: correct the syntax error"
        ) from error
    except ValueError as error:
        raise FingerprintError(f"{path}: not Python source ({error}): restore the file") from error
    pieces: list[str] = []
    imports: list[Import] = []
    _serialise(tree, pieces.append, imports.append)
    digest = hashlib.sha256("\n".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()
    return Source(digest, tuple(imports))


def _serialise(node: ast.AST, write: Callable[[str], None], note: Callable[[Import], None]) -> None:
    """Writes the tree as text that says what runs, and notes the imports on the way.

    Unlike `ast.dump` it leaves out docstrings, statements without effect and empty fields. One pass is several times
    faster than separate ones that remove these, collect the imports and dump the rest.
    """
    kind = node.__class__
    if kind is ast.Import:
        for alias in node.names:
            note(Import(alias.name, (), 0, node.lineno))
    elif kind is ast.ImportFrom:
        note(Import(node.module or "", tuple(alias.name for alias in node.names), node.level, node.lineno))
    write(kind.__name__)
    for field in _fields(kind):
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            write(field)
            _serialise(value, write, note)
        elif value.__class__ is list:
            if value:
                write(f"{field}[")
                _serialise_items(value, write, note)
                write("]")
        elif value is not None:
            write(f"{field}={value!r}")
    write(")")


def _serialise_items(items: list, write: Callable[[str], None], note: Callable[[Import], None]) -> None:
    for item in items:
        if item.__class__ is ast.If and _is_type_checking(item.test):
            _serialise_items(item.orelse, write, note)
        elif not isinstance(item, ast.AST):
            write(repr(item))
        elif not _has_no_effect(item):
            _serialise(item, write, note)


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(field for field in kind._fields if field not in _IGNORED_FIELDS)


def _has_no_effect(node: ast.AST) -> bool:
    """Whether a statement cannot change a result: `pass`, `...`, docstrings of any kind, the version."""
    if node.__class__ is ast.Expr:
        return node.value.__class__ is ast.Constant
    if node.__class__ is ast.Assign:
        # Every fingerprint covers the package's __init__, and a new version number must not rerun the study.
        return [getattr(target, "id", None) for target in node.targets] == ["__version__"]
    return node.__class__ is ast.Pass


def _is_type_checking(test: ast.expr) -> bool:
    return getattr(test, "attr", None) == "TYPE_CHECKING" or getattr(test, "id", None) == "TYPE_CHECKING"

"""The cells of the benchmark that a table or figure needs, as its key `cells` in workflow/artifacts.yaml says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tallsbi import algorithms
from tallsbi.study.claims import cells as claims
from tallsbi.study.claims.files import load
from tallsbi.study.parts.sbibm import SbibmPart
from tallsbi.study.settings.cells import ALL, LARGEST, Cells, judging, parse, product_of

_KEYS = ("tasks", "runs", "n_train")


def asked(part: SbibmPart) -> Cells:
    """What the configuration wants beside what is needed."""
    return frozenset().union(*(parse(text, part.n_train) for text in part.section["cells"]))


def needed(entry: Mapping[str, Any], tasks: Sequence[str], part: SbibmPart, root: Path) -> Cells:
    """`tasks`: those that the artifact shows. With the cells by which parameter sets are excluded."""
    if "claims" in entry:
        return claims.needed(load(root / entry["claims"]), part)
    sizes = part.n_train if entry.get("n_train", ALL) == ALL else [part.most_simulations]
    cells = product_of(tasks, sizes, _runs(entry, part))
    return cells | judging(tasks, part.n_train, part.runs) if cells else cells


def shown(entry: Mapping[str, Any], tasks: Sequence[str], part: SbibmPart) -> tuple[str, ...]:
    """The runs of a figure: those it needs and, unless it lists its runs, those that the configuration asks for."""
    more = set() if _lists(entry) else {cell.run for cell in asked(part) if cell.task in tasks}
    chosen = {*_runs(entry, part), *more}
    return tuple(run for run in part.runs if run in chosen)


def problem(entry: Any, part: SbibmPart) -> str:
    """What is wrong with an entry, or nothing."""
    if not isinstance(entry, Mapping):
        return "write {runs: ..., n_train: ...}"
    unknown = [key for key in entry if key not in (*_KEYS, "claims")]
    if unknown:
        return f"there is no key {unknown[0]}; use one of {', '.join(_KEYS)}, or claims alone"
    if entry.get("n_train", ALL) not in (ALL, LARGEST):
        return f"n_train = {entry['n_train']!r}: write {ALL} or {LARGEST}"
    runs = entry.get("runs", [])
    names = runs if isinstance(runs, list) else runs["except"] if isinstance(runs, Mapping) else []
    known = {*algorithms.names(), *part.config["methods"]}
    strange = [run for run in names if algorithms.base_name(run) not in known]
    return f"no method `{strange[0]}`; there is {', '.join(sorted(known))}" if strange else ""


def _lists(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("runs", {}), list | str)


def _runs(entry: Mapping[str, Any], part: SbibmPart) -> list[str]:
    given = entry.get("runs", {"except": []})
    if isinstance(given, Mapping):
        return [run for run in part.runs if run not in given["except"]]
    if isinstance(given, str):  # a key of the configuration
        value: Any = part.config
        for name in given.split("."):
            value = value[name]
        given = value
    return [run for run in part.runs if run in given]

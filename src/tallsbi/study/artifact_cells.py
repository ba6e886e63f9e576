"""The cells of the benchmark that a table or figure needs, as its key `cells` in workflow/artifacts.yaml says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tallsbi import algorithms
from tallsbi.study.claims import cells as claims
from tallsbi.study.claims.files import load
from tallsbi.study.parts.sbibm import SbibmPart
from tallsbi.study.settings.cells import ALL, LARGEST, Cells, exclusion_cells, parse, product_of

_NEED_KEYS = ("tasks", "runs", "n_train")


def requested_cells(part: SbibmPart) -> Cells:
    """What `sbibm.cells` of the configuration requests beside what is needed."""
    return frozenset().union(*(parse(text, part.n_train) for text in part.section["cells"]))


def needed_cells(entry: Mapping[str, Any], tasks: Sequence[str], part: SbibmPart, root: Path) -> Cells:
    """The cells that an entry needs on the `tasks` that the artifact shows, and those that decide the excluded sets."""
    if "claims" in entry:
        return claims.needed(load(root / entry["claims"]), part)
    sizes = part.n_train if entry.get("n_train", ALL) == ALL else [part.most_simulations]
    cells = product_of(tasks, sizes, _runs(entry, part))
    return cells | exclusion_cells(tasks, part.n_train, part.runs) if cells else cells


def shown_runs(entry: Mapping[str, Any], tasks: Sequence[str], part: SbibmPart) -> tuple[str, ...]:
    """The runs of a figure: those it needs and, unless it lists its runs, those that the configuration requests."""
    requested = (
        set() if _lists_runs(entry) else {cell.run for cell in requested_cells(part) if cell.task in tasks}
    )
    runs = {*_runs(entry, part), *requested}
    return tuple(run for run in part.runs if run in runs)


def problem(entry: Any, part: SbibmPart) -> str:
    """What is wrong with an entry; empty if nothing is."""
    if not isinstance(entry, Mapping):
        return "write {runs: ..., n_train: ...}"
    unknown_keys = [key for key in entry if key not in (*_NEED_KEYS, "claims")]
    if unknown_keys:
        return f"there is no key {unknown_keys[0]}; use one of {', '.join(_NEED_KEYS)}, or claims alone"
    if entry.get("n_train", ALL) not in (ALL, LARGEST):
        return f"n_train = {entry['n_train']!r}: write {ALL} or {LARGEST}"
    runs = entry.get("runs", [])
    listed = runs if isinstance(runs, list) else runs["except"] if isinstance(runs, Mapping) else []
    known = {*algorithms.names(), *part.config["methods"]}
    unknown_runs = [run for run in listed if algorithms.base_name(run) not in known]
    return f"no method `{unknown_runs[0]}`; there is {', '.join(sorted(known))}" if unknown_runs else ""


def _lists_runs(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("runs", {}), list | str)


def _runs(entry: Mapping[str, Any], part: SbibmPart) -> list[str]:
    runs = entry.get("runs", {"except": []})
    if isinstance(runs, Mapping):
        return [run for run in part.runs if run not in runs["except"]]
    if isinstance(runs, str):  # a key of the configuration
        value: Any = part.config
        for name in runs.split("."):
            value = value[name]
        runs = value
    return [run for run in part.runs if run in runs]

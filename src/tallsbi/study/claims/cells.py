"""The cells of the benchmark that the claims are about: what their tests name is what they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tallsbi.study.parts.sbibm import SbibmPart
from tallsbi.study.settings.cells import OTHER_BOUNDS, Cells, judging, product_of

_DATA = ("sbibm", "either_bounds", "guidance", "partial")  # views of the distances of the benchmark
_BEST = "blown"  # a run has blown up beside the best of all, whichever that is


def needed(content: Mapping[str, Any], part: SbibmPart) -> Cells:
    """The cells behind the claims, as far as the run has their tasks and methods."""
    cells: set = set()
    for claim in content["claims"]:
        for test in _single(claim["test"]):
            if test["data"] in _DATA:
                cells |= _of_test(test, part)
    return frozenset(cells)


def _single(test: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "of" in test:
        for each in test["of"]:
            yield from _single(each)
    else:
        yield test


def _of_test(test: Mapping[str, Any], part: SbibmPart) -> Cells:
    where = test.get("where", {})
    tasks = part.known(_listed(where["task"])) if "task" in where else part.main_tasks
    sizes = _sizes(where.get("n_train"), part.n_train)
    named = [
        run for side in ("where", "left", "right") for run in _listed(test.get(side, {}).get("method", []))
    ]
    if _BEST in test.get("condition", {}):
        named = part.runs
    elif test["data"] == "partial" and not named:
        named = part.group_methods
    runs = [run for run in part.runs if run in named] if named else part.runs
    cells = product_of(tasks, sizes, runs) | judging(tasks, part.n_train, part.runs)
    if test["data"] == "either_bounds":
        others = [task for task in part.other_bounds_tasks if task in tasks]
        largest = [size for size in sizes if size == part.most_simulations]
        cells |= product_of(others, largest, runs, OTHER_BOUNDS)
    return cells


def _listed(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _sizes(condition: Any, n_train: Sequence[int]) -> list[int]:
    """The N_train that a condition of the claims may mean; all where it has bounds."""
    if condition == "largest":
        return [max(n_train)]
    if condition == "smallest":
        return [min(n_train)]
    if condition is None or isinstance(condition, Mapping):
        return list(n_train)
    return [size for size in n_train if size in _listed(condition)]

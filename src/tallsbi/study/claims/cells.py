"""The cells of the benchmark that the claims are about: what their tests name is what they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tallsbi.study.parts.sbibm import SbibmPart
from tallsbi.study.settings.cells import OTHER_BOUNDS, Cells, exclusion_cells, product_of

_BENCHMARK_VIEWS = ("sbibm", "either_bounds", "guidance", "partial")
# A run has blown up beside the best of all runs, so a test of this column needs all of them.
_BLOWN_UP_COLUMN = "blown"


def needed(content: Mapping[str, Any], part: SbibmPart) -> Cells:
    """The cells behind the claims, as far as the run has their tasks and methods."""
    cells: set = set()
    for claim in content["claims"]:
        for test in _single_tests(claim["test"]):
            if test["data"] in _BENCHMARK_VIEWS:
                cells |= _cells_of(test, part)
    return frozenset(cells)


def _single_tests(test: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The tests that an entry of the YAML is made of."""
    if "of" in test:
        for inner in test["of"]:
            yield from _single_tests(inner)
    else:
        yield test


def _cells_of(test: Mapping[str, Any], part: SbibmPart) -> Cells:
    where = test.get("where", {})
    tasks = part.present_tasks(_listed(where["task"])) if "task" in where else part.main_tasks
    sizes = _sizes(where.get("n_train"), part.n_train)
    methods = [
        run for side in ("where", "left", "right") for run in _listed(test.get(side, {}).get("method", []))
    ]
    if _BLOWN_UP_COLUMN in test.get("condition", {}):
        methods = part.runs
    elif test["data"] == "partial" and not methods:
        methods = part.group_methods
    runs = [run for run in part.runs if run in methods] if methods else part.runs
    cells = product_of(tasks, sizes, runs) | exclusion_cells(tasks, part.n_train, part.runs)
    if test["data"] == "either_bounds":
        bounded_tasks = [task for task in part.other_bounds_tasks if task in tasks]
        largest_size = [size for size in sizes if size == part.most_simulations]
        cells |= product_of(bounded_tasks, largest_size, runs, OTHER_BOUNDS)
    return cells


def _listed(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _sizes(condition: Any, n_train: Sequence[int]) -> list[int]:
    """The N_train that a condition can mean; all of them where the condition is a bound."""
    if condition == "largest":
        return [max(n_train)]
    if condition == "smallest":
        return [min(n_train)]
    if condition is None or isinstance(condition, Mapping):
        return list(n_train)
    return [size for size in n_train if size in _listed(condition)]

"""The problems: nine sbibm tasks of the paper (section 4.2), one file each, the toys and the Jansen-Rit model.

The task `name` lives in `tallsbi/study/tasks/<name>.py` and is the object called `TASK` there. Nothing else has to
know of it. A task is imported when it is asked for, so that a change to one task reruns the jobs of that task only,
and listing the tasks costs nothing.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallsbi.study.settings.problem import ProblemSettings
    from tallsbi.study.tasks.base import Task, TrainingProblem

JRNMM = ("3d", "4d")
"""The Jansen-Rit problem, by its number of parameters."""


def names() -> list[str]:
    """The names of all tasks: each has a file of that name."""
    modules = pkgutil.iter_modules(__path__)
    return sorted(
        module.name for module in modules if not module.ispkg and module.name not in ("base", "toy")
    )


def module_of(name: str) -> str:
    """Dotted name of the module that holds the problem, for code fingerprints."""
    if name in JRNMM:
        return f"{__name__}.jrnmm.problem"
    available = names()
    if name not in available:
        close = difflib.get_close_matches(name.lower(), available, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"Unknown task {name!r}; available: {', '.join(available)}{hint}")
    return f"{__name__}.{name}"


def label_of(name: str) -> str:
    """The name a task has in figures, read off its source: importing it would load torch."""
    match = re.search(r'^    label = "(.*)"$', _source(name), re.MULTILINE)
    return match[1] if match else name


def has_uniform_prior(name: str) -> bool:
    """Whether the task's prior is uniform, read off its source."""
    return re.search(r"\bUniform\(", _source(name)) is not None


def _source(name: str) -> str:
    return (Path(__path__[0]) / f"{module_of(name).rpartition('.')[2]}.py").read_text(encoding="utf-8")


def load(name: str) -> Task:
    """The task of that name."""
    return importlib.import_module(module_of(name)).TASK


def simulator(settings: ProblemSettings) -> TrainingProblem:
    """The problem with what the configuration decides about it."""
    if settings.name in JRNMM:
        problem = importlib.import_module(module_of(settings.name))
        return problem.JansenRit(settings.name, settings.bounds, settings.theta)
    task = load(settings.name)
    return task if settings.stds is None else task.with_stds(settings.stds)  # type: ignore[attr-defined]

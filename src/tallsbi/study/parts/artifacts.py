"""The settings of tables and figures, by the names that workflow/artifacts.yaml uses for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tallsbi.runner.config import run_name
from tallsbi.study.parts.study import Study
from tallsbi.study.settings import artifacts as settings
from tallsbi.study.settings.base import Settings
from tallsbi.study.tasks import has_uniform_prior, label_of

LISTED = "listed"  # the value of fidelity.exclude_sets that takes the published lists
JRNMM_LABELS = {"C": "$C$", "mu": r"$\mu$", "sigma": r"$\sigma$", "g": "$g$"}


def other_run(study: Study) -> str:
    """The run of the same scale under the other protocol."""
    protocol = {"published": "stated", "stated": "published"}[study.config["protocol"]]
    return run_name({**study.config, "protocol": protocol})


def _toy_metric(study: Study) -> str:
    return {"max_sliced": "max_sw_norm", "sliced": "sw_norm"}[study.toy.fidelity["toy_metric"]]


def _toy_figures(study: Study, tasks: Sequence[str]) -> Settings:
    toy = study.toy
    return settings.ToyFigures(toy.fidelity["toy_prior"], _toy_metric(study), toy.section["figure_dim"])


def _toy_tables(study: Study, problem: str) -> settings.ToyTables:
    toy = study.toy.section
    return settings.ToyTables(
        problem=problem,
        cell=settings.TableCell(**{**toy["table"], "dim": study.toy.table_dim(problem)}),
        metric=_toy_metric(study),
        samples=toy["samples"],
        repeats=toy["timing"]["repeats"],
        timing_samples=toy["timing"]["samples"],
    )


def _task_rows(study: Study, tasks: Sequence[str]) -> Settings:
    labels = {task: label_of(task) for task in tasks}
    exclude = study.sbibm.fidelity["exclude_sets"]
    return settings.TaskRows(tuple(tasks), labels, bool(exclude), exclude == LISTED)


def _sbibm_tables(study: Study, tasks: Sequence[str]) -> settings.SbibmTables:
    sbibm = study.sbibm
    return settings.SbibmTables(
        tasks=tuple(sbibm.main_tasks),
        extra_tasks=tuple(sbibm.section["extra_tasks"]),
        table_n_obs=tuple(sbibm.section["table_n_obs"]),
        labels={task: label_of(task) for task in sbibm.problems},
        listed=sbibm.fidelity["exclude_sets"] == LISTED,
    )


def _printed_tables(study: Study, tasks: Sequence[str]) -> Settings:
    toys = (_toy_tables(study, problem) for problem in (study.toy.gaussian, "mixture"))
    return settings.PrintedTables(*toys, _sbibm_tables(study, tasks))


def _jrnmm(study: Study, dim: int) -> Settings:
    names, theta, bounds = list(JRNMM_LABELS)[:dim], study.jrnmm.section["theta"], study.jrnmm.bounds
    return settings.JrnmmFigures(
        theta={name: theta[name] for name in names},
        bounds={name: bounds[name] for name in names},
        labels={name: JRNMM_LABELS[name] for name in names},
        samples=study.jrnmm.section["samples"],
    )


def _jrnmm_losses(study: Study, tasks: Sequence[str]) -> Settings:
    problems = study.jrnmm.problems
    return settings.TaskRows(tuple(problems), {name: name.replace("d", "-D") for name in problems})


def _claims(study: Study, tasks: Sequence[str]) -> Settings:
    return settings.ClaimsTable(
        claims="workflow/resources/claims",
        other_run=other_run(study),
        fidelity=dict(study.config["fidelity"]),
        toy_metric=_toy_metric(study).removesuffix("_norm"),
        uniform_tasks=tuple(filter(has_uniform_prior, study.sbibm.problems)),
        theta=dict(study.jrnmm.section["theta"]),
        bounds=study.jrnmm.bounds,
    )


SETTINGS: Mapping[str, Callable[[Study, Sequence[str]], Settings]] = {
    "toy_figures": _toy_figures,
    "toy_gaussian_tables": lambda study, _: _toy_tables(study, study.toy.gaussian),
    "toy_mixture_tables": lambda study, _: _toy_tables(study, "mixture"),
    "pedagogical": lambda study, _: settings.Pedagogical(tuple(study.toy.section["pedagogical"]["theta"])),
    "tasks": _task_rows,
    "sbibm_tables": _sbibm_tables,
    "printed_tables": _printed_tables,
    "jrnmm_3d": lambda study, _: _jrnmm(study, 3),
    "jrnmm_4d": lambda study, _: _jrnmm(study, 4),
    "jrnmm_losses": _jrnmm_losses,
    "claims": _claims,
    "run": lambda study, _: settings.RunName(run_name(study.config)),
}
"""Functions of the study and of the tasks that the artifact shows."""

"""The settings of tables and figures, from the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tallsbi.runner.config import run_name
from tallsbi.study.settings import artifacts as settings
from tallsbi.study.settings.base import Settings
from tallsbi.study.tasks import has_uniform_prior, label_of

JRNMM_LABELS = {"C": "$C$", "mu": r"$\mu$", "sigma": r"$\sigma$", "g": "$g$"}
Config = Mapping[str, Any]


def other_run(config: Config) -> str:
    """The run of the same scale under the other protocol."""
    return run_name({**config, "protocol": "stated" if config["protocol"] == "published" else "published"})


def all_tasks(config: Config) -> list[str]:
    """The tasks of the sbibm part."""
    return [*config["sbibm"]["tasks"], *config["sbibm"]["extra_tasks"]]


def _toy_metric(config: Config) -> str:
    return {"max_sliced": "max_sw_norm", "sliced": "sw_norm"}[config["fidelity"]["toy_metric"]]


def _toy_figures(config: Config, tasks: list[str]) -> Settings:
    return settings.ToyFigures(
        config["fidelity"]["toy_prior"], _toy_metric(config), config["toy"]["figure_dim"]
    )


def _toy_tables(problem: str, config: Config) -> Settings:
    toy = config["toy"]
    cell = {**toy["table"], **({"dim": toy["mixture"]["dim"]} if problem == "mixture" else {})}
    return settings.ToyTables(
        problem=problem,
        cell=settings.ToyCell(**cell),
        metric=_toy_metric(config),
        samples=toy["samples"],
        repeats=toy["timing"]["repeats"],
        timing_samples=toy["timing"]["samples"],
    )


def _task_rows(config: Config, tasks: list[str]) -> Settings:
    labels = {task: label_of(task) for task in tasks}
    return settings.TaskRows(tuple(tasks), labels, config["fidelity"]["exclude_sets"])


def _sbibm_tables(config: Config, tasks: list[str]) -> Settings:
    sbibm = config["sbibm"]
    return settings.SbibmTables(
        tasks=tuple(sbibm["tasks"]),
        extra_tasks=tuple(sbibm["extra_tasks"]),
        table_n_obs=tuple(sbibm["table_n_obs"]),
        labels={task: label_of(task) for task in all_tasks(config)},
    )


def _jrnmm_bounds(config: Config) -> dict[str, tuple[float, float]]:
    bounds = {**config["jrnmm"]["bounds"], "sigma": config["fidelity"]["jrnmm_sigma"]}
    return {name: (low, high) for name, (low, high) in bounds.items()}


def _jrnmm(dim: int, config: Config) -> Settings:
    names, bounds = list(JRNMM_LABELS)[:dim], _jrnmm_bounds(config)
    return settings.JrnmmFigures(
        theta={name: config["jrnmm"]["theta"][name] for name in names},
        bounds={name: bounds[name] for name in names},
        labels={name: JRNMM_LABELS[name] for name in names},
        samples=config["jrnmm"]["samples"],
    )


def _claims(config: Config, tasks: list[str]) -> Settings:
    return settings.ClaimsTable(
        claims="workflow/resources/claims.yaml",
        other_run=other_run(config),
        fidelity=dict(config["fidelity"]),
        toy_metric=_toy_metric(config).removesuffix("_norm"),
        uniform_tasks=tuple(filter(has_uniform_prior, all_tasks(config))),
        theta=dict(config["jrnmm"]["theta"]),
        bounds=_jrnmm_bounds(config),
    )


SETTINGS: Mapping[str, Callable[[Config, list[str]], Settings]] = {
    "toy_figures": _toy_figures,
    "toy_gaussian_tables": lambda config, _: _toy_tables(
        f"gaussian-{config['fidelity']['toy_prior']}", config
    ),
    "toy_mixture_tables": lambda config, _: _toy_tables("mixture", config),
    "pedagogical": lambda config, _: settings.Pedagogical(tuple(config["toy"]["pedagogical"]["theta"])),
    "tasks": _task_rows,
    "sbibm_tables": _sbibm_tables,
    "jrnmm_3d": lambda config, _: _jrnmm(3, config),
    "jrnmm_4d": lambda config, _: _jrnmm(4, config),
    "jrnmm_losses": lambda config, _: settings.TaskRows(("3d", "4d"), {"3d": "3-D", "4d": "4-D"}),
    "claims": _claims,
    "run": lambda config, _: settings.RunName(run_name(config)),
}
"""By the names in the declaration: settings from the configuration and the tasks that the artifact shows."""

"""Rules between the keys of the configuration, which a schema cannot state.

A rule may meet values that the schema has refused already. It ignores a value of the wrong kind, so that every
mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tallsbi import algorithms
from tallsbi.runner.config_errors import Layers
from tallsbi.runner.config_schema import closest, did_you_mean, is_number, look_up
from tallsbi.study import tasks

# `ddim.eta`, `fidelity.uniform_switch` and `fidelity.fnpse_prior` set these for all methods alike.
_COMMON_SETTINGS = {"eta", "switch_over", "prior_term"}
# The figures and rules of these parts are about GAUSS.
_PARTS_ABOUT_GAUSS = ("toy", "sbibm", "jrnmm")
# (key below `toy`, list below `toy`): a table or figure shows the value, so the list must have it.
_TOY_VALUES_ON_GRIDS = [
    ("table.dim", "dims"),
    ("table.n_obs", "n_obs"),
    ("table.noise", "noise"),
    ("figure_dim", "dims"),
    ("table.dim", "timing.dims"),
    ("table.n_obs", "timing.n_obs"),
]
# (key, key of its limit): a number that must not exceed what is simulated.
_LIMITS = [
    ("sbibm.n_train", "sbibm.simulations"),
    ("sbibm.n_obs", "sbibm.observations"),
    ("jrnmm.n_obs", "jrnmm.observations"),
    ("sbibm.steps.sets", "sbibm.sets"),
    ("toy.figure_dim", "toy.other_prior_max_dim"),
]
# Keys below `sbibm` that list tasks or methods.
_TASK_LISTS = [
    "tasks",
    "extra_tasks",
    "beyond_tasks",
    "bounds_tasks",
    "steps.tasks",
    "many.tasks",
    "horizon.tasks",
    "refined.tasks",
]
_METHOD_LISTS = ["many.methods", "partial.methods"]


def problems(config: dict, layers: Layers, refused: tuple[str, ...]) -> list[str]:
    """What is wrong between the keys; `refused` are the problems that the schema has found."""
    return Rules(config, layers, refused, tuple(algorithms.names())).problems()


@dataclass(frozen=True)
class Rules:
    """The merged configuration, its layers, the problems found so far, and the names of all algorithms."""

    config: dict
    layers: Layers
    refused: tuple[str, ...]
    algorithms: tuple[str, ...]

    def problems(self) -> list[str]:
        rules = [
            self._methods(),
            self._parts(),
            self._toy(),
            self._names(),
            self._tasks(),
            self._cells(),
            self._limits(),
            self._training(),
            self._intervals(),
            self._precision(),
        ]
        return list(chain.from_iterable(rules))

    def _value(self, key: str) -> Any:
        """The value of a dotted key."""
        return look_up(self.config, tuple(key.split(".")))

    def _quote(self, key: str) -> str:
        return self.layers.quote(tuple(key.split(".")), self._value(key))

    def _list(self, key: str) -> list:
        """The list at a key; empty where there is none."""
        value = self._value(key)
        return value if isinstance(value, list) else []

    def _precision(self) -> Iterator[str]:
        if self._value("precision") == "bfloat16" and self._value("dtype") == "float64":
            yield (
                f"{self._quote('precision')}: with dtype = float64 reduced products make no sense; set dtype to "
                "float32, or precision to float32"
            )

    def _methods(self) -> Iterator[str]:
        """Methods without an algorithm, and settings that their algorithm does not take."""
        for name, settings in _mapping(self._value("methods")).items():
            algorithm = _mapping(settings).get("algorithm", name)
            if algorithm == name and name.isupper() and name not in self.algorithms:
                yield (
                    f"methods.{name}: no such algorithm (from {self.layers.origin(('methods', name))}); it needs the "
                    f"file src/tallsbi/algorithms/{name.lower()}.py, or `algorithm:` says whose variant it is; "
                    f"{_available(name, self.algorithms)}"
                )
            elif algorithm != name and name in self.algorithms:
                key = f"methods.{name}.algorithm"
                yield f"{self._quote(key)}: {name} is an algorithm of its own; give the variant another name"
            elif isinstance(algorithm, str) and algorithm.isupper() and algorithm not in self.algorithms:
                key = f"methods.{name}.algorithm"
                yield f"{self._quote(key)}: no such algorithm; {_available(algorithm, self.algorithms)}"
            elif algorithm in algorithms.names() and isinstance(settings, dict):
                algorithm_settings = [
                    key for key in algorithms.settings_of(algorithm) if key not in _COMMON_SETTINGS
                ]
                allowed = ["parts", "algorithm", *algorithm_settings]
                for key in (key for key in settings if key not in allowed):
                    problem = f"{algorithm} has no such setting; it takes {', '.join(allowed)}"
                    yield f"{self._quote(f'methods.{name}.{key}')}: {problem}"
                low, high = settings.get("narrowest", 0), settings.get("widest", 1)
                if is_number(low) and is_number(high) and low > high:
                    yield f"{self._quote(f'methods.{name}.narrowest')}: no more than widest = {high}"

    def _parts(self) -> Iterator[str]:
        """Parts that cannot do without GAUSS, and lists of methods none of which takes part."""
        methods = _mapping(self._value("methods"))
        if not methods or any(not isinstance(settings, dict) for settings in methods.values()):
            return
        lacking = [part for part in _PARTS_ABOUT_GAUSS if not _takes_part(methods.get("GAUSS"), part)]
        if lacking:
            yield (
                f"methods.GAUSS: must take part in {', '.join(lacking)}, whose figures are about it; leave its line in "
                "config.yaml, with these in its `parts` if it has that key"
            )
        for part, key in (("sbibm", "sbibm.partial.methods"), ("beyond", "sbibm.many.methods")):
            listed = self._list(key)
            if listed and not any(_takes_part(methods.get(str(name)), part) for name in listed):
                yield f"{self._quote(key)}: none of these takes part in {part}; see methods.<NAME>.parts"

    def _toy(self) -> Iterator[str]:
        """Values of tables and figures that are on no grid, and noise levels that have the same name in a path."""
        for key, grid in _TOY_VALUES_ON_GRIDS:
            value, values = self._value(f"toy.{key}"), self._value(f"toy.{grid}")
            refused = any(text.startswith((f"toy.{grid} ", f"toy.{grid}[")) for text in self.refused)
            if is_number(value) and isinstance(values, list) and not refused and value not in values:
                yield f"{self._quote(f'toy.{key}')}: must be one of {self._quote(f'toy.{grid}')}"
        for key in ("toy.noise", "sbibm.training.learning_rates"):
            numbers = self._list(key)
            if _all_numbers(numbers) and len({f"{x:g}" for x in numbers}) < len(set(numbers)):
                yield f"{self._quote(key)}: two of these are the same to six digits; give others"

    def _names(self) -> Iterator[str]:
        """Names of tasks and methods that have no file."""
        task_names, method_names = tasks.names(), [*algorithms.names(), *_mapping(self._value("methods"))]
        for keys, kind, known in ((_TASK_LISTS, "task", task_names), (_METHOD_LISTS, "method", method_names)):
            for key in (f"sbibm.{key}" for key in keys):
                for name in self._list(key):
                    if isinstance(name, str) and name not in known:
                        yield f"{self._quote(key)}: no {kind} `{name}`; {_available(name, known)}"
        for name in _mapping(self._value("sbibm.training.exceptions")):
            if name not in task_names:
                yield f"sbibm.training.exceptions.{name}: no task `{name}`; {_available(name, task_names)}"

    def _tasks(self) -> Iterator[str]:
        """A task listed twice, or asked for bounds that its prior does not have."""
        listed: dict[str, str] = {}
        for key in ("sbibm.tasks", "sbibm.extra_tasks", "sbibm.beyond_tasks"):
            names = [task for task in self._list(key) if isinstance(task, str)]
            for task in names:
                if task in listed:
                    yield f"{self._quote(key)}: {task} in {listed[task]} already; name it in one"
            listed |= dict.fromkeys(names, key)
        for task in self._list("sbibm.bounds_tasks"):
            if task in tasks.names() and not tasks.has_uniform_prior(task):
                yield (
                    f"{self._quote('sbibm.bounds_tasks')}: the prior of {task} is not uniform and has no bounds; "
                    "leave it out"
                )

    def _cells(self) -> Iterator[str]:
        """Cells of tasks, methods or training sets that the benchmark does not have."""
        key, benchmark_tasks = "sbibm.cells", [*self._list("sbibm.tasks"), *self._list("sbibm.extra_tasks")]
        configured = _mapping(self._value("methods"))
        methods = [name for name, settings in configured.items() if _takes_part(settings, "sbibm")]
        sizes = self._list("sbibm.n_train")
        for cell in self._list(key):
            if any(text.startswith(f"{key}[") for text in self.refused) or not isinstance(cell, str):
                continue
            task, run, *size = cell.split("/")
            method = algorithms.base_name(run)
            if task not in benchmark_tasks:
                yield f"{self._quote(key)}: no task `{task}` in the benchmark; {_available(task, benchmark_tasks)}"
            if method not in methods:
                yield f"{self._quote(key)}: no method `{method}` in the benchmark; {_available(method, methods)}"
            if size and int(size[0]) not in sizes:
                yield f"{self._quote(key)}: no networks with N_train = {size[0]}; {self._quote('sbibm.n_train')}"

    def _limits(self) -> Iterator[str]:
        """Numbers that exceed what is simulated."""
        for key, limit_key in _LIMITS:
            value, limit = self._value(key), self._value(limit_key)
            values = value if isinstance(value, list) else [value]
            if _all_numbers(values) and is_number(limit) and max(values, default=0) > limit:
                yield f"{self._quote(key)}: no more than {self._quote(limit_key)}"

    def _training(self) -> Iterator[str]:
        """Networks that sample but are not trained, and a validation share that holds out no row."""
        training = "sbibm.training"
        published = self._value(f"{training}.choice") == "published"
        if published and self._value("fidelity.early_stopping") is False:
            exceptions = _mapping(self._value(f"{training}.exceptions"))
            names = [task for task in self._list("sbibm.tasks") if isinstance(task, str)]
            sections = [f"{training}.exceptions.{task}" if task in exceptions else training for task in names]
            keys = {
                f"{section}.{setting}" for section in sections for setting in ("learning_rate", "batch_size")
            }
            for key in sorted(keys, key=lambda key: key.split(".")):
                yield from self._on_trained_grid(key, f"{training}.{key.rpartition('.')[2]}s")
            yield from self._on_trained_grid("jrnmm.training.learning_rate", "jrnmm.training.learning_rates")
        share, sizes = self._value(f"{training}.validation_share"), self._list("sbibm.n_train")
        if is_number(share) and sizes and _all_numbers(sizes) and round(share * min(sizes)) < 1:
            yield (
                f"{self._quote(f'{training}.validation_share')}: holds out no row of {min(sizes)} "
                "(sbibm.n_train); raise it"
            )

    def _on_trained_grid(self, key: str, grid: str) -> Iterator[str]:
        value, values = self._value(key), self._value(grid)
        if is_number(value) and _all_numbers(values) and value not in values:
            yield f"{self._quote(key)}: must be one of {self._quote(grid)}, which are trained"

    def _intervals(self) -> Iterator[str]:
        """Bounds the wrong way round, and a true parameter outside of its prior."""
        bounds = {name: f"jrnmm.bounds.{name}" for name in ("C", "mu", "g")} | {
            "sigma": "fidelity.jrnmm_sigma"
        }
        for key in ["toy.wide_prior.std", *bounds.values()]:
            pair = self._value(key)
            if _is_pair(pair) and pair[0] >= pair[1]:
                yield f"{self._quote(key)}: the first must be less than the second"
        for name, key in bounds.items():
            value, pair = self._value(f"jrnmm.theta.{name}"), self._value(key)
            if is_number(value) and _is_pair(pair) and not pair[0] <= value <= pair[1]:
                yield f"{self._quote(f'jrnmm.theta.{name}')}: must be inside {self._quote(key)}"


def _available(name: str, known: Sequence[str]) -> str:
    return f"available: {', '.join(known)}" + did_you_mean(closest(name, known))


def _takes_part(settings: Any, part: str) -> bool:
    """Whether a method takes part in a part of the study; without `parts` it takes part in all."""
    parts = settings.get("parts", [part]) if isinstance(settings, dict) else []
    return isinstance(parts, list) and part in parts


def _mapping(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _all_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def _is_pair(value: Any) -> bool:
    return _all_numbers(value) and len(value) == 2

"""Rules between the keys of the configuration, which a schema cannot say.

Each rule looks at values that the schema may have refused already: what is not of the kind it expects is passed over,
so that a mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

from tallsbi.runner.config_schema import (
    MISSING,
    KeyPath,
    close,
    did_you_mean,
    dotted,
    is_number,
    look_up,
    shorten,
)


@dataclass(frozen=True)
class Layers:
    """The layers before merging, to tell where a value was set."""

    top: dict  # what Snakemake handed over: config.yaml and the command line
    file: dict | None  # config.yaml alone, if it can be read
    overlays: dict[str, dict]  # file name -> content: the protocol, then the scale

    def origin(self, path: KeyPath) -> str:
        value = look_up(self.top, path)
        if value is MISSING:
            found = (name for name, data in self.overlays.items() if look_up(data, path) is not MISSING)
            return next(found, "config.yaml")
        # Compared as text, for NaN differs from itself.
        same = self.file is None or repr(look_up(self.file, path)) == repr(value)
        return "config.yaml" if same else "the command line"

    def found(self, path: KeyPath, value: Any) -> str:
        return f"{dotted(path)} = {shorten(value)} (from {self.origin(path)})"


# Set by `ddim.eta` and `fidelity.uniform_switch` for all methods alike.
_COMMON = {"eta", "switch_over"}
# Figures and rules of these parts are about GAUSS.
_ABOUT_GAUSS = ("toy", "sbibm", "jrnmm")


@dataclass(frozen=True)
class Rules:
    """The merged configuration, where its values come from, and what the schema has found wrong with it."""

    config: dict
    layers: Layers
    refused: tuple[str, ...] = ()

    def problems(self, known_methods: Collection[str]) -> list[str]:
        rules = [
            self.methods(sorted(name.upper() for name in known_methods)),
            self.parts(),
            self.toy(),
            self.listings(),
            self.tasks(),
            self.limits(),
            self.training(),
            self.intervals(),
        ]
        return list(chain.from_iterable(rules))

    def at(self, *path: str) -> Any:
        return look_up(self.config, path)

    def found(self, *path: str) -> str:
        return self.layers.found(path, self.at(*path))

    def list_at(self, *path: str) -> list:
        """The list of a key; empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, list) else []

    # Methods

    def methods(self, known: list[str]) -> Iterator[str]:
        """Methods without an algorithm, and settings that their algorithm does not take."""
        from tallsbi.algorithms import names as with_source
        from tallsbi.algorithms import settings_of

        for name, settings in _mapping(self.at("methods")).items():
            if name.isupper() and name not in known:
                yield (
                    f"methods.{name}: no such algorithm (from {self.layers.origin(('methods', name))}); it needs the "
                    f"file src/tallsbi/algorithms/{name.lower()}.py; available: {', '.join(known)}"
                    + did_you_mean(close(name, known))
                )
            elif name in with_source() and isinstance(settings, dict):
                takes = ["parts", *(key for key in settings_of(name) if key not in _COMMON)]
                for key in (key for key in settings if key not in takes):
                    yield (
                        f"{self.found('methods', name, key)}: {name} has no such setting; it takes {', '.join(takes)}"
                    )
                low, high = settings.get("narrowest", 0), settings.get("widest", 1)
                if is_number(low) and is_number(high) and low > high:
                    yield f"{self.found('methods', name, 'narrowest')}: no more than widest = {high}"

    def parts(self) -> Iterator[str]:
        """Studies that cannot do without GAUSS, and lists of methods none of which takes part."""
        methods = _mapping(self.at("methods"))
        if not methods or any(not isinstance(settings, dict) for settings in methods.values()):
            return
        lacking = [study for study in _ABOUT_GAUSS if study not in _takes_part(methods.get("GAUSS"), study)]
        if lacking:
            yield (
                f"methods.GAUSS: must take part in {', '.join(lacking)}, whose figures are about it; leave its line in "
                "config.yaml, with these in its `parts` if it has that key"
            )
        for study, path in (("sbibm", ("partial", "methods")), ("beyond", ("many", "methods"))):
            listed = self.list_at("sbibm", *path)
            if listed and not any(study in _takes_part(methods.get(str(name)), study) for name in listed):
                yield (
                    f"{self.found('sbibm', *path)}: none of these takes part in {study}; see methods.<NAME>.parts"
                )

    # Names and grids

    def toy(self) -> Iterator[str]:
        """Cells of tables and figures that are on no grid, and noise levels that cannot be told apart."""
        cells = [("table.dim", "dims"), ("table.n_obs", "n_obs"), ("table.noise", "noise")]
        cells += [("figure_dim", "dims"), ("table.dim", "timing.dims"), ("table.n_obs", "timing.n_obs")]
        for cell, name in cells:
            path, where = ("toy", *cell.split(".")), ("toy", *name.split("."))
            value, grid = self.at(*path), self.at(*where)
            usable = is_number(value) and isinstance(grid, list)
            usable = usable and not any(
                text.startswith((f"toy.{name} ", f"toy.{name}[")) for text in self.refused
            )
            if usable and value not in grid:
                yield f"{self.found(*path)}: must be one of {self.found(*where)}"
        for path in (("toy", "noise"), ("sbibm", "training", "learning_rates")):
            numbers = self.list_at(*path)
            if _numbers(numbers) and len({f"{x:g}" for x in numbers}) < len(set(numbers)):
                yield f"{self.found(*path)}: two of these are the same to six digits; give others"

    def listings(self) -> Iterator[str]:
        """Names of tasks and methods that have no file."""
        from tallsbi.algorithms import names as algorithms
        from tallsbi.study.tasks import names

        tasks, methods = names(), algorithms()
        keys = [(("tasks",), tasks), (("extra_tasks",), tasks), (("bounds_tasks",), tasks)]
        keys += [(("steps", "tasks"), tasks), (("many", "tasks"), tasks)]
        keys += [(("many", "methods"), methods), (("partial", "methods"), methods)]
        for key, available in keys:
            kind = "method" if key[-1] == "methods" else "task"
            for name in self.list_at("sbibm", *key):
                if isinstance(name, str) and name not in available:
                    yield (
                        f"{self.found('sbibm', *key)}: no {kind} `{name}`; available: {', '.join(available)}"
                        + did_you_mean(close(name, available))
                    )
        for name in _mapping(self.at("sbibm", "training", "exceptions")):
            if name not in tasks:
                yield (
                    f"sbibm.training.exceptions.{name}: no task `{name}`; available: {', '.join(tasks)}"
                    + did_you_mean(close(name, tasks))
                )

    def tasks(self) -> Iterator[str]:
        """A task listed twice, or asked for bounds that its prior does not have."""
        from tallsbi.study.tasks import has_uniform_prior, names

        twice = [
            task for task in self.list_at("sbibm", "extra_tasks") if task in self.list_at("sbibm", "tasks")
        ]
        if twice:
            yield f"{self.found('sbibm', 'extra_tasks')}: {', '.join(twice)} in sbibm.tasks already; name it in one"
        for task in self.list_at("sbibm", "bounds_tasks"):
            if task in names() and not has_uniform_prior(task):
                yield (
                    f"{self.found('sbibm', 'bounds_tasks')}: the prior of {task} is not uniform and has no bounds; "
                    "leave it out"
                )

    # Numbers

    def limits(self) -> Iterator[str]:
        """Numbers that exceed what is simulated."""
        limits = [("sbibm.n_train", "sbibm.simulations"), ("sbibm.n_obs", "sbibm.observations")]
        limits += [("jrnmm.n_obs", "jrnmm.observations"), ("sbibm.steps.sets", "sbibm.sets")]
        for key, most in limits:
            values, limit = self.at(*key.split(".")), self.at(*most.split("."))
            values = values if isinstance(values, list) else [values]
            if _numbers(values) and is_number(limit) and max(values, default=0) > limit:
                yield f"{self.found(*key.split('.'))}: no more than {self.found(*most.split('.'))}"

    def training(self) -> Iterator[str]:
        """Networks that sample but are not trained, and validation without a row."""
        grid, names = self.at("sbibm", "training"), ("learning_rate", "batch_size")
        if self.at("fidelity", "early_stopping") is False and isinstance(grid, dict):
            exceptions = _mapping(grid.get("exceptions"))
            tasks = [task for task in self.list_at("sbibm", "tasks") if isinstance(task, str)]
            chosen = {
                ("sbibm", "training", *(("exceptions", task, name) if task in exceptions else (name,)))
                for task, name in product(tasks, names)
            }
            for path in sorted(chosen):
                yield from self._trained(path, ("sbibm", "training", f"{path[-1]}s"))
            yield from self._trained(
                ("jrnmm", "training", "learning_rate"), ("jrnmm", "training", "learning_rates")
            )
        share, sizes = self.at("sbibm", "training", "validation_share"), self.list_at("sbibm", "n_train")
        if is_number(share) and sizes and _numbers(sizes) and round(share * min(sizes)) < 1:
            yield (
                f"{self.found('sbibm', 'training', 'validation_share')}: holds out no row of {min(sizes)} "
                "(sbibm.n_train); raise it"
            )

    def _trained(self, path: KeyPath, where: KeyPath) -> Iterator[str]:
        value, grid = self.at(*path), self.at(*where)
        if is_number(value) and _numbers(grid) and value not in grid:
            yield f"{self.found(*path)}: must be one of {self.found(*where)}, which are trained"

    def intervals(self) -> Iterator[str]:
        """Bounds the wrong way round, and a true parameter outside of its prior."""
        bounds = {name: ("jrnmm", "bounds", name) for name in ("C", "mu", "g")}
        bounds["sigma"] = ("fidelity", "jrnmm_sigma")
        for path in [("toy", "wide_prior", "std"), *bounds.values()]:
            pair = self.at(*path)
            if _pair(pair) and pair[0] >= pair[1]:
                yield f"{self.found(*path)}: the first must be less than the second"
        for name, path in bounds.items():
            value, pair = self.at("jrnmm", "theta", name), self.at(*path)
            if is_number(value) and _pair(pair) and not pair[0] <= value <= pair[1]:
                yield f"{self.found('jrnmm', 'theta', name)}: must be inside {self.found(*path)}"


def _takes_part(settings: Any, study: str) -> list[str]:
    """The parts of a method: all, unless it says which."""
    if not isinstance(settings, dict):
        return []
    parts = settings.get("parts", [study])
    return parts if isinstance(parts, list) else []


def _mapping(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def _pair(value: Any) -> bool:
    return _numbers(value) and len(value) == 2

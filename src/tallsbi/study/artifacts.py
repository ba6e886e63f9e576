"""Tables and figures as workflow/artifacts.yaml declares them, resolved for a configuration.

    declaration = read(root, Study(config))
    declaration.artifacts["toy_sw_vs_n"].data        {"metrics": "results/smoke/toy/distances.csv"}

The file itself explains its keys. What depends on the configuration (tasks, batch sizes, the name of the run) is
resolved here, so that an `Artifact` says exactly what its rule needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from tallsbi.runner.config import run_name
from tallsbi.study import artifact_cells
from tallsbi.study.columns import catalogue
from tallsbi.study.parts.artifacts import SETTINGS, other_run
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.artifacts import TaskRows
from tallsbi.study.settings.base import Settings
from tallsbi.study.settings.cells import Cells
from tallsbi.study.tasks import label_of

DECLARATION = "workflow/artifacts.yaml"
SUFFIXES = {"figures": ("pdf", "png", "svg"), "tables": ("csv", "md", "tex")}
TARGETS = ("toy", "sbibm", "jrnmm")  # rules of the Snakefile that make a part of the study


class ArtifactError(ValueError):
    """A declaration that cannot be used."""


@dataclass(frozen=True)
class Artifact:
    """One table or figure. `data`: paths by name; `if_present`: the names of those that are never waited for; `reads`:
    other files that decide its look; `cells`: what it needs of the benchmark."""

    id: str
    part: str
    title: str
    paper: str
    function: str
    data: Mapping[str, str]
    settings: Settings
    run: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cells: Cells = frozenset()
    if_present: frozenset[str] = frozenset()
    reads: tuple[str, ...] = ()
    timed: bool = False

    @property
    def kind(self) -> str:
        """`figures` or `tables`: the folder of the outputs, and the package of the function."""
        return self.function.split(".")[0]

    @property
    def module(self) -> str:
        return f"tallsbi.study.{self.function.rpartition('.')[0]}"

    @property
    def code(self) -> tuple[str, ...]:
        """What decides its look beside the script: modules, and files that are read by name."""
        columns = {catalogue.module_of(path) for path in self.data.values()} - {None}
        return (self.module, *sorted(columns), *self.reads)

    @property
    def needed(self) -> dict[str, str]:
        """The data that it waits for."""
        return {name: path for name, path in self.data.items() if name not in self.if_present}

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.run}/{self.kind}/{self.id}.{suffix}" for suffix in SUFFIXES[self.kind])

    @property
    def target(self) -> str:
        """The part of the study whose data it shows; `all` if there is more than one."""
        folders = {
            path.removeprefix(f"{self.run}/").split("/")[0]
            for path in self.data.values()
            if path.startswith(f"{self.run}/")
        }
        return next(iter(folders)) if len(folders) == 1 and folders <= set(TARGETS) else "all"

    @property
    def params(self) -> dict[str, Any]:
        """What decides its look beside data and code; a change reruns it."""
        return {"settings": self.settings.as_params(), "arguments": dict(self.arguments)}


@dataclass(frozen=True)
class Declaration:
    """All tables and figures of a run, in the order of the page, the parts of the page, and the cells of the benchmark
    that the configuration requests."""

    parts: Mapping[str, Mapping[str, str]]
    artifacts: Mapping[str, Artifact]
    requested: Cells = frozenset()

    @property
    def cells(self) -> Cells:
        """What is computed of the benchmark: all that is needed or requested."""
        return self.requested.union(*(artifact.cells for artifact in self.artifacts.values()))

    def of(self, kind: str = "", target: str = "") -> list[Artifact]:
        """The artifacts of a kind, with the data of a part of the study; without these, all."""
        return [
            artifact
            for artifact in self.artifacts.values()
            if kind in ("", artifact.kind) and target in ("", artifact.target)
        ]

    @property
    def page(self) -> dict[str, Any]:
        """What the report page must know of the parts, and of every table and figure."""
        names = ("id", "kind", "part", "title", "paper", "module", "data")
        made = [{name: getattr(artifact, name) for name in names} for artifact in self.artifacts.values()]
        parts = [{"id": name, **text} for name, text in self.parts.items()]
        return {"parts": parts, "made": made}


def read(root: Path, study: Study) -> Declaration:
    """The declaration, resolved for a configuration."""
    content = _content(root)
    artifacts: dict[str, Artifact] = {}
    for name, entry in content["artifacts"].items():
        entry = {"paper": "not in the paper", **({"settings": "tasks"} if "tasks" in entry else {}), **entry}
        _check(name, entry, content["parts"], study)
        for artifact in _resolved(name, entry, study, root):
            if artifact.id in artifacts:
                raise ArtifactError(
                    f"{DECLARATION}, {name}: there are two artifacts {artifact.id}; rename one"
                )
            artifacts[artifact.id] = artifact
    return Declaration(content["parts"], artifacts, artifact_cells.requested_cells(study.sbibm))


def timed_outputs(root: Path) -> tuple[str, ...]:
    """Patterns, below a run, of the tables and figures that hold measured times, whatever the configuration."""
    entries = _content(root)["artifacts"].items()
    return tuple(
        f"{entry['function'].split('.')[0]}/{name}.*" for name, entry in entries if entry.get("timed")
    )


def _content(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / DECLARATION).read_text(encoding="utf-8"))


_RESOLVED_FIELDS = {"id", "run", "if_present"}  # no entry gives them
_ENTRY_KEYS = ({field.name for field in fields(Artifact)} - _RESOLVED_FIELDS) | {
    "tasks",
    "requires",
    "for_each",
}
_REQUIRED_KEYS = ("part", "title", "function", "data", "settings")


def _check(name: str, entry: Mapping[str, Any], parts: Mapping[str, Any], study: Study) -> None:
    def refuse(key: str, remedy: str) -> None:
        raise ArtifactError(f"{DECLARATION}, {name}: {key} = {entry.get(key)!r}: {remedy}")

    for key in entry:
        if key not in _ENTRY_KEYS:
            refuse(key, f"there is no such key; use one of {', '.join(sorted(_ENTRY_KEYS))}")
    for key in _REQUIRED_KEYS:
        if key not in entry:
            refuse(key, "every table and figure needs it; add it")
    if entry["part"] not in parts:
        refuse("part", f"choose one of {', '.join(parts)}")
    if entry["settings"] not in SETTINGS:
        refuse("settings", f"choose one of {', '.join(SETTINGS)}")
    if entry["function"].split(".")[0] not in SUFFIXES or entry["function"].count(".") != 2:
        refuse("function", "write figures.<module>.<function> or tables.<module>.<function>")
    for need in _list(entry.get("cells", [])):
        if problem := artifact_cells.problem(need, study.sbibm):
            refuse("cells", problem)


def _resolved(name: str, entry: Mapping[str, Any], study: Study, root: Path) -> Iterator[Artifact]:
    """The artifacts of one entry: none if the configuration has nothing for it, several with `for_each`."""
    tasks = _present_tasks(study, entry["tasks"]) if "tasks" in entry else None
    required = entry.get("requires", {}).items()
    if tasks == [] or any(value not in _value(study, key) for key, value in required):
        return
    run = f"results/{run_name(study.config)}"
    data, if_present = _data(entry["data"], run, study, root)
    for replacements in _replacements(entry.get("for_each", {}), study):
        shown_tasks = [replacements["task"]] if "task" in replacements else tasks or []
        cells, runs = _cells(entry, shown_tasks, study, root)
        settings = SETTINGS[entry["settings"]](study, tasks or [])
        yield Artifact(
            id=name.format(**replacements),
            title=entry["title"].format(**replacements) if replacements else entry["title"],
            data=data,
            settings=replace(settings, runs=runs) if isinstance(settings, TaskRows) else settings,
            cells=cells,
            run=run,
            arguments={
                key: value.format(**replacements) if replacements and isinstance(value, str) else value
                for key, value in entry.get("arguments", {}).items()
            },
            if_present=if_present,
            reads=tuple(_files(entry.get("reads", ()), root)),
            **{key: entry[key] for key in ("part", "paper", "function", "timed") if key in entry},
        )


def _cells(
    entry: Mapping[str, Any], tasks: list[str], study: Study, root: Path
) -> tuple[Cells, tuple[str, ...]]:
    """What an artifact needs of the benchmark, and the runs that it shows."""
    cells, runs = set(), {}
    for need in _list(entry.get("cells", [])):
        need_tasks = _present_tasks(study, need["tasks"]) if "tasks" in need else tasks
        cells |= artifact_cells.needed_cells(need, need_tasks, study.sbibm, root)
        runs |= dict.fromkeys(artifact_cells.shown_runs(need, need_tasks, study.sbibm))
    return frozenset(cells), tuple(runs)


def _files(reads: Sequence[str], root: Path) -> Iterator[str]:
    """Files by their paths; of a folder all that it holds."""
    for path in reads:
        if (root / path).is_dir():
            yield from (file.relative_to(root).as_posix() for file in sorted((root / path).iterdir()))
        else:
            yield path


def _list(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _replacements(for_each: Mapping[str, str], study: Study) -> list[dict[str, str]]:
    """What replaces the names in braces, for each artifact of an entry."""
    if not for_each:
        return [{}]
    ((name, key),) = for_each.items()
    return [
        {name: value, **({"label": label_of(value)} if name == "task" else {})}
        for value in _value(study, key)
    ]


def _data(
    declared: Mapping[str, Any], run: str, study: Study, root: Path
) -> tuple[dict[str, str], frozenset[str]]:
    """Paths by name, and the names of the files that are read only if they are there."""
    paths, if_present = {}, set()
    for name, value in declared.items():
        entry = value if isinstance(value, dict) else {"path": value}
        if "tasks" in entry and not _present_tasks(study, entry["tasks"]):
            continue
        path = entry["path"].format(other_run=other_run(study))
        path = path if path.startswith(("workflow/", "results/")) else f"{run}/{path}"
        if entry.get("if_present"):
            # A run with a name of its own has no counterpart under the other protocol.
            if study.config.get("run") or not (root / path).is_file():
                continue
            if_present.add(name)
        paths[name] = path
    return paths, frozenset(if_present)


def _value(study: Study, key: str) -> Any:
    value: Any = study.config
    for name in key.split("."):
        value = value[name]
    return value


def _present_tasks(study: Study, key: str) -> list[str]:
    """The tasks that a key lists, as far as the study runs them."""
    return study.sbibm.present_tasks(_value(study, key))

"""Tables and figures as workflow/artifacts.yaml declares them, resolved for a configuration.

    declared = read(root, Study(config))
    declared.artifacts["toy_sw_vs_n"].data        {"metrics": "results/smoke/toy/distances.csv"}

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
    """One table or figure. `data`: paths by name; `if_present`: the names of those that are never waited for; `cells`:
    what it needs of the benchmark."""

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
        """What its look depends on beside the script: modules and files that are read by name."""
        columns = {catalogue.module_of(path) for path in self.data.values()} - {None}
        return (self.module, *sorted(columns), *self.reads)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.run}/{self.kind}/{self.id}.{suffix}" for suffix in SUFFIXES[self.kind])

    @property
    def target(self) -> str:
        """The part of the study whose data it shows, if it is only one of them."""
        folders = {
            path.removeprefix(f"{self.run}/").split("/")[0]
            for path in self.data.values()
            if path.startswith(f"{self.run}/")
        }
        return next(iter(folders)) if len(folders) == 1 and folders <= set(TARGETS) else "all"

    @property
    def params(self) -> dict[str, Any]:
        """What decides, beside data and code, how it looks; a change reruns it."""
        return {"settings": self.settings.as_params(), "arguments": dict(self.arguments)}


@dataclass(frozen=True)
class Declared:
    """All tables and figures of a run, in the order of the page, the parts of the page, and the cells of the benchmark
    that the configuration asks for."""

    parts: Mapping[str, Mapping[str, str]]
    artifacts: Mapping[str, Artifact]
    asked: Cells = frozenset()

    @property
    def cells(self) -> Cells:
        """What is computed of the benchmark: all that is needed or asked for."""
        return self.asked.union(*(artifact.cells for artifact in self.artifacts.values()))

    def of(self, kind: str = "", target: str = "") -> list[Artifact]:
        """Those of a kind, or with the data of a part of the study."""
        chosen = self.artifacts.values()
        return [each for each in chosen if kind in ("", each.kind) and target in ("", each.target)]

    @property
    def page(self) -> dict[str, Any]:
        """What the report page must know of the parts, and of every table and figure."""
        names = ("id", "kind", "part", "title", "paper", "module", "data")
        made = [{name: getattr(each, name) for name in names} for each in self.artifacts.values()]
        parts = [{"id": name, **text} for name, text in self.parts.items()]
        return {"parts": parts, "made": made}


def read(root: Path, study: Study) -> Declared:
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
    return Declared(content["parts"], artifacts, artifact_cells.asked(study.sbibm))


def timed_outputs(root: Path) -> tuple[str, ...]:
    """Patterns, below a run, of the tables and figures that hold measured times, whatever the configuration."""
    entries = _content(root)["artifacts"].items()
    return tuple(
        f"{entry['function'].split('.')[0]}/{name}.*" for name, entry in entries if entry.get("timed")
    )


def _content(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / DECLARATION).read_text(encoding="utf-8"))


_RESOLVED = {"id", "run", "if_present"}  # fields that no entry gives
_KEYS = ({each.name for each in fields(Artifact)} - _RESOLVED) | {"tasks", "requires", "for_each"}
_NEEDED = ("part", "title", "function", "data", "settings")


def _check(name: str, entry: Mapping[str, Any], parts: Mapping[str, Any], study: Study) -> None:
    def refuse(key: str, remedy: str) -> None:
        raise ArtifactError(f"{DECLARATION}, {name}: {key} = {entry.get(key)!r}: {remedy}")

    for key in entry:
        if key not in _KEYS:
            refuse(key, f"there is no such key; use one of {', '.join(sorted(_KEYS))}")
    for key in _NEEDED:
        if key not in entry:
            refuse(key, "every table and figure needs it; add it")
    if entry["part"] not in parts:
        refuse("part", f"choose one of {', '.join(parts)}")
    if entry["settings"] not in SETTINGS:
        refuse("settings", f"choose one of {', '.join(SETTINGS)}")
    if entry["function"].split(".")[0] not in SUFFIXES or entry["function"].count(".") != 2:
        refuse("function", "write figures.<module>.<function> or tables.<module>.<function>")
    for each in _list(entry.get("cells", [])):
        if problem := artifact_cells.problem(each, study.sbibm):
            refuse("cells", problem)


def _resolved(name: str, entry: Mapping[str, Any], study: Study, root: Path) -> Iterator[Artifact]:
    """The artifacts of one entry: none if the configuration has nothing for it, several with `for_each`."""
    tasks = _known(study, entry["tasks"]) if "tasks" in entry else None
    required = entry.get("requires", {}).items()
    if tasks == [] or any(value not in _value(study, key) for key, value in required):
        return
    run = f"results/{run_name(study.config)}"
    data, if_present = _data(entry["data"], run, study, root)
    for words in _words(entry.get("for_each", {}), study):
        cells, runs = _cells(entry, [words["task"]] if "task" in words else tasks or [], study, root)
        settings = SETTINGS[entry["settings"]](study, tasks or [])
        yield Artifact(
            id=name.format(**words),
            title=entry["title"].format(**words) if words else entry["title"],
            data=data,
            settings=replace(settings, runs=runs) if isinstance(settings, TaskRows) else settings,
            cells=cells,
            run=run,
            arguments={
                key: value.format(**words) if words and isinstance(value, str) else value
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
        on = _known(study, need["tasks"]) if "tasks" in need else tasks
        cells |= artifact_cells.needed(need, on, study.sbibm, root)
        runs |= dict.fromkeys(artifact_cells.shown(need, on, study.sbibm))
    return frozenset(cells), tuple(runs)


def _files(reads: Sequence[str], root: Path) -> Iterator[str]:
    """Files by their paths; of a folder all that it holds."""
    for path in reads:
        folder = (root / path).is_dir()
        inside = sorted((root / path).iterdir()) if folder else []
        yield from (each.relative_to(root).as_posix() for each in inside)
        if not folder:
            yield path


def _list(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def _words(for_each: Mapping[str, str], study: Study) -> list[dict[str, str]]:
    """What stands for the names in braces, per artifact of an entry."""
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
    """Paths by name, and the names of the files that are only read because they are there."""
    paths, if_present = {}, set()
    for name, given in declared.items():
        entry = given if isinstance(given, dict) else {"path": given}
        if "tasks" in entry and not _known(study, entry["tasks"]):
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


def _known(study: Study, key: str) -> list[str]:
    """The tasks that a key lists, as far as the study runs them."""
    return study.sbibm.known(_value(study, key))

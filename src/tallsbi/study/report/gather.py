"""Gathers the report page of a run from its files.

    page = gather(Sources(root, run, page), figures, tables, config, versions)

`root` is the repository, `run` the directory under results/, `page` the file to be written. `figures` and
`tables` say for every id which module made it and from which files.
"""

from __future__ import annotations

import base64
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tallsbi import __version__
from tallsbi.runner.config import load_schema, run_name
from tallsbi.storage.files import DataError, read_csv
from tallsbi.study.report import captions, failures, readable, records
from tallsbi.study.report.page import (
    VERDICTS,
    Claim,
    Figure,
    Ledger,
    Link,
    Page,
    Part,
    Switch,
    Table,
    Variant,
)

ITEMS = "workflow/report/items.yaml"
PROTOCOLS = "workflow/protocols"
# Tables with a section of their own.
LEDGER, CERTIFICATES, COST = "claims", "reference_certificates", "cost"
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Sources:
    """Where things are: the repository, the run and the page to be."""

    root: Path
    run: Path
    page: Path

    def link(self, path: str | Path, text: str | None = None) -> Link:
        """A link from the page to a file of the repository or the run; only its name if it is not there."""
        full = self.root / path
        href = Path(os.path.relpath(full, self.page.parent)).as_posix() if full.exists() else None
        name = full.relative_to(self.run).as_posix() if full.is_relative_to(self.run) else full.name
        return Link(text or name, href)


@dataclass(frozen=True)
class Origin:
    """What made a figure or table: the module, and the files it was made from by the names the module uses."""

    module: str
    data: Mapping[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.data.values())))


def gather(
    sources: Sources,
    figures: Mapping[str, Origin],
    tables: Mapping[str, Origin],
    config: Mapping[str, Any],
    versions: Mapping[str, str],
) -> Page:
    """Everything the page shows."""
    jobs = records.read_records(sources.run / "records")
    tidy = _tidy(sources, [*figures.values(), *tables.values()])
    items = _Items.read(sources.root)
    shown = {name: _table(sources, items, name, tables[name]) for name in tables if name != LEDGER}
    pictures = {name: _figure(sources, items, name, origin) for name, origin in figures.items()}
    return Page(
        run=run_name(config),
        facts=_facts(sources, config, jobs),
        versions=tuple({"Python": platform.python_version(), "tallsbi": __version__, **versions}.items()),
        settings=yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=None, width=100),
        ledger=_ledger(sources, tables[LEDGER]) if LEDGER in tables else None,
        parts=items.parts(pictures, {k: v for k, v in shown.items() if k not in (CERTIFICATES, COST)}),
        references=shown.get(CERTIFICATES),
        switches=switches(sources.root, config),
        diverged=failures.diverged(tidy),
        uncertified=failures.uncertified(tidy),
        usage=records.usage(jobs),
        cost=shown.get(COST),
    )


def _facts(
    sources: Sources, config: Mapping[str, Any], jobs: Sequence[records.Record]
) -> tuple[tuple[str, str], ...]:
    began, ended = records.span(jobs)
    sums = records.total(jobs)
    return (
        ("Scale", config["scale"]),
        ("Protocol", config["protocol"]),
        ("Seed", str(config["seed"])),
        ("Commit", records.commit(sources.root)),
        ("First job began", began),
        ("Last job ended", ended),
        ("Cost", f"{sums.core_hours:.2f} core-hours in {sums.jobs} measured jobs"),
        ("Largest memory of a job", f"{sums.peak_mb:.0f} MB"),
    )


def _tidy(sources: Sources, origins: Sequence[Origin]) -> dict[str, pd.DataFrame]:
    """The tidy files of the run behind figures and tables, by their path in the run."""
    paths = sorted({sources.root / path for origin in origins for path in origin.files})
    mine = [path for path in paths if path.is_relative_to(sources.run) and path.suffix == ".csv"]
    return {path.relative_to(sources.run).with_suffix("").as_posix(): read_csv(path) for path in mine}


@dataclass(frozen=True)
class _Items:
    """workflow/report/items.yaml: titles, places in the paper, and the parts of the page."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, root: Path) -> _Items:
        return cls(yaml.safe_load((root / ITEMS).read_text(encoding="utf-8"))["parts"])

    def about(self, name: str) -> Mapping[str, str]:
        return next((part["items"][name] for part in self.content.values() if name in part["items"]), {})

    def parts(self, figures: Mapping[str, Figure], tables: Mapping[str, Table]) -> tuple[Part, ...]:
        """Figures and tables in their parts, in the order of the file; what it does not list comes last."""
        listed = {name for part in self.content.values() for name in part["items"]}
        parts = [
            Part(
                id=key,
                title=part["title"],
                about=part["about"],
                figures=tuple(figures[name] for name in part["items"] if name in figures),
                tables=tuple(tables[name] for name in part["items"] if name in tables),
            )
            for key, part in self.content.items()
        ]
        rest = Part(
            id="other",
            title="Other figures and tables",
            about="Not listed among the figures and tables of the study.",
            figures=tuple(figure for name, figure in figures.items() if name not in listed),
            tables=tuple(table for name, table in tables.items() if name not in listed),
        )
        return tuple(part for part in [*parts, rest] if part.figures or part.tables)


def _figure(sources: Sources, items: _Items, name: str, origin: Origin) -> Figure:
    path = sources.run / "figures" / f"{name}.png"
    content = path.read_bytes()
    if content[:8] != _PNG:
        raise DataError(f"{path} is no PNG picture: delete it and rerun")
    width, height = struct.unpack(">II", content[16:24])
    about, caption = items.about(name), captions.read(sources.root, name)
    title = about.get("title", name)
    pdf = sources.link(path.with_suffix(".pdf"), "PDF")
    return Figure(
        id=name,
        title=title,
        paper=about.get("paper", ""),
        caption=caption,
        data=(*(sources.link(data) for data in origin.files), pdf),
        code=_code(sources, origin.module),
        source="data:image/png;base64," + base64.b64encode(content).decode("ascii"),
        width=width,
        height=height,
        alt=f"{title}. {caption.text}".strip(),
    )


def _table(sources: Sources, items: _Items, name: str, origin: Origin) -> Table:
    path = sources.run / "tables" / f"{name}.csv"
    text = readable.read(path.with_suffix(".md"))
    about = items.about(name)
    return Table(
        id=name,
        title=about.get("title", text.title),
        paper=about.get("paper", ""),
        caption=captions.read(sources.root, name),
        data=(sources.link(path), *(sources.link(data) for data in origin.files)),
        code=_code(sources, origin.module),
        columns=text.columns,
        printed=tuple(map(readable.is_printed, text.columns)),
        rows=text.rows,
        note=text.note,
    )


def _code(sources: Sources, module: str) -> Link:
    return sources.link(f"src/{module.replace('.', '/')}.py", module)


def _ledger(sources: Sources, origin: Origin) -> Ledger:
    path = sources.run / "tables" / f"{LEDGER}.csv"
    frame = read_csv(path)
    lacking = {"id", "claim", "verdict"} - set(frame.columns)
    if lacking:
        raise DataError(f"{path} has no column {', '.join(sorted(lacking))}: delete it and rerun")
    rows = [
        {key: _text(value) for key, value in row.items()} for row in frame.astype(object).to_dict("records")
    ]
    claims = tuple(
        _claim(sources, origin, [row for row in rows if row["id"] == name])
        for name in dict.fromkeys(row["id"] for row in rows)
    )
    found = [claim.verdict for claim in claims]
    others = [verdict for verdict in dict.fromkeys(found) if verdict not in VERDICTS]
    return Ledger(
        claims=claims,
        counts=tuple((verdict, found.count(verdict)) for verdict in [*VERDICTS, *others]),
        sections=tuple(dict.fromkeys(claim.section for claim in claims if claim.section)),
        caption=captions.read(sources.root, LEDGER),
        data=sources.link(path),
        code=_code(sources, origin.module),
    )


def _text(value: Any) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _claim(sources: Sources, origin: Origin, rows: Sequence[Mapping[str, str]]) -> Claim:
    """The rows of one claim: the one that the run's own switches choose, and its variants."""
    head = next((row for row in rows if row.get("headline", "True") == "True"), rows[0])
    own = {field.name for field in fields(Claim)} - {"data", "variants"}
    variants = tuple(
        Variant(row["variant"], row.get("measured", ""), row.get("uncertainty", ""), row["verdict"])
        for row in rows
        if row is not head
    )
    return Claim(
        **{key: head.get(key, "") for key in own},
        data=_claim_data(sources, origin, head.get("data", "")),
        variants=variants,
    )


def _claim_data(sources: Sources, origin: Origin, text: str) -> tuple[Link, ...]:
    """The files behind a claim, which names the ledger's own inputs, files of the run, or ids of tables."""
    links = []
    for name in text.replace(",", " ").replace(";", " ").split():
        inputs = [Path(origin.data[name])] if name in origin.data else []
        places = [*inputs, sources.run / name, sources.run / "tables" / f"{name}.csv", sources.root / name]
        found = next((place for place in places if place.is_file()), None)
        links.append(Link(name, None) if found is None else sources.link(found))
    return tuple(links)


def switches(root: Path, config: Mapping[str, Any]) -> tuple[Switch, ...]:
    """The fidelity switches with their value here and under the two protocols."""
    protocols = {
        name: yaml.safe_load((root / PROTOCOLS / f"{name}.yaml").read_text(encoding="utf-8"))["fidelity"]
        for name in ("published", "stated")
    }
    about = load_schema(root)["properties"]["fidelity"]["properties"]
    return tuple(
        Switch(
            key=key,
            value=_plain(value),
            published=_plain(protocols["published"].get(key)),
            stated=_plain(protocols["stated"].get(key)),
            about=about.get(key, {}).get("description", ""),
        )
        for key, value in config["fidelity"].items()
    )


def _plain(value: Any) -> str:
    """A setting as config.yaml writes it."""
    return yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()

"""Gathers the report page of a run from its files.

    page = gather(Sources(root, run, page), record)

`root` is the repository, `run` the directory under results/, `page` the file to be written; `record` says which
tables and figures there are and which modules made them.
"""

from __future__ import annotations

import base64
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
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
    Figure,
    Ledger,
    Link,
    Page,
    Part,
    Rows,
    ShownClaim,
    ShownVariant,
    Table,
)
from tallsbi.study.report.record import MadeArtifact, PageFacts, RunRecord, read

PROTOCOLS = "workflow/protocols"
# Tables with a section of their own.
LEDGER, CERTIFICATES, COST = "claims", "reference_certificates", "cost"
SECTION_TABLES = (CERTIFICATES, COST)
LARGEST_DRAWING = 400_000  # bytes of an SVG that the page takes
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


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


def gather(sources: Sources, record: RunRecord) -> Page:
    """Everything the page shows."""
    jobs = records.read_records(sources.run / "records")
    tidy, config = _tidy(sources, record.made), record.config
    figures = {made.id: _figure(sources, made) for made in record.made if made.kind == "figures"}
    tables = {
        made.id: _table(sources, made) for made in record.made if made.kind == "tables" and made.id != LEDGER
    }
    ledger = [_ledger(sources, made) for made in record.made if made.id == LEDGER]
    return Page(
        run=run_name(config),
        scale=str(config["scale"]),
        facts=_facts(sources, record, jobs),
        versions=tuple(
            {"Python": platform.python_version(), "tallsbi": __version__, **record.versions}.items()
        ),
        settings=yaml.safe_dump(config, sort_keys=False, default_flow_style=None, width=100),
        ledger=ledger[0] if ledger else None,
        parts=_parts(
            record,
            figures,
            {name: table for name, table in tables.items() if name not in SECTION_TABLES},
        ),
        references=tables.get(CERTIFICATES),
        switches=switches(sources.root, config["fidelity"]),
        lost=failures.lost_runs(tidy),
        uncertified=failures.uncertified_references(tidy),
        usage=records.usage(jobs),
        cost=tables.get(COST),
    )


def read_page(root: Path, run: Path) -> Page:
    """The page of a finished run once more, with the facts of the time it was made."""
    record, facts = read(run)
    page = gather(Sources(root=root, run=run, page=run / "report" / "index.html"), record)
    return replace(page, facts=facts)


def _facts(sources: Sources, record: RunRecord, jobs: Sequence[records.JobUse]) -> PageFacts:
    began, ended = records.span(jobs)
    return (
        *((name.capitalize(), str(record.config[name])) for name in ("scale", "protocol", "seed")),
        ("Commit", records.commit(sources.root)),
        ("First job began", began),
        ("Last job ended", ended),
        ("Cost", f"{records.core_hours(jobs):.2f} core-hours in {len(jobs)} measured jobs"),
        ("Largest memory of a job", f"{records.peak_memory(jobs):.0f} MB"),
    )


def _tidy(sources: Sources, made: Sequence[MadeArtifact]) -> dict[str, pd.DataFrame]:
    """The tidy files of the run behind figures and tables, by their path in the run."""
    paths = sorted({sources.root / path for artifact in made for path in artifact.files})
    return {
        path.relative_to(sources.run).with_suffix("").as_posix(): read_csv(path)
        for path in paths
        if path.is_relative_to(sources.run) and path.suffix == ".csv"
    }


def _parts(record: RunRecord, figures: Mapping[str, Figure], tables: Mapping[str, Table]) -> tuple[Part, ...]:
    """Figures and tables in their parts, in the order of their declaration."""
    parts = []
    for part in record.parts:
        ids = [made.id for made in record.made if made.part == part.id]
        shown = [tuple(items[name] for name in ids if name in items) for items in (figures, tables)]
        if any(shown):
            parts.append(Part(part.id, part.title, part.about, *shown))
    return tuple(parts)


def _item(sources: Sources, made: MadeArtifact, *data: Link) -> dict[str, Any]:
    """The fields that figures and tables have in common."""
    return {
        "id": made.id,
        "title": made.title,
        "paper": made.paper,
        "caption": captions.read(sources.root, made.id),
        "data": data,
        "code": _code(sources, made.module),
    }


def _figure(sources: Sources, made: MadeArtifact) -> Figure:
    path = sources.run / "figures" / f"{made.id}.png"
    png = path.read_bytes()
    if png[:8] != _PNG_SIGNATURE:
        raise DataError(f"{path} is no PNG picture: delete it and rerun")
    width, height = struct.unpack(">II", png[16:24])
    pdf = sources.link(path.with_suffix(".pdf"), "PDF")
    drawing = path.with_suffix(".svg")
    kind, content = "png", png
    # A picture of lines stays sharp at any size; one of many thousand points would fill the page.
    if drawing.is_file() and drawing.stat().st_size <= LARGEST_DRAWING:
        kind, content = "svg+xml", drawing.read_bytes()
    item = _item(sources, made, *map(sources.link, made.files), pdf)
    return Figure(
        **item,
        source=f"data:image/{kind};base64," + base64.b64encode(content).decode("ascii"),
        png=png,
        width=width,
        height=height,
        alt=f"{made.title}. {item['caption'].text}".strip(),
    )


def _table(sources: Sources, made: MadeArtifact) -> Table:
    path = sources.run / "tables" / f"{made.id}.csv"
    readable_table = readable.read(path.with_suffix(".md"))
    return Table(
        **_item(sources, made, sources.link(path), *map(sources.link, made.files)),
        columns=readable_table.columns,
        printed=tuple(map(readable.is_printed, readable_table.columns)),
        rows=readable_table.rows,
        note=readable_table.note,
    )


def _code(sources: Sources, module: str) -> Link:
    return sources.link(f"src/{module.replace('.', '/')}.py", module)


def _ledger(sources: Sources, made: MadeArtifact) -> Ledger:
    path = sources.run / "tables" / f"{LEDGER}.csv"
    frame = read_csv(path)
    lacking = {"id", "claim", "verdict"} - set(frame.columns)
    if lacking:
        raise DataError(f"{path} has no column {', '.join(sorted(lacking))}: delete it and rerun")
    rows = [
        {key: _text(value) for key, value in row.items()} for row in frame.astype(object).to_dict("records")
    ]
    claims = tuple(
        _claim(sources, made, [row for row in rows if row["id"] == name])
        for name in dict.fromkeys(row["id"] for row in rows)
    )
    verdicts = [claim.verdict for claim in claims]
    others = [verdict for verdict in dict.fromkeys(verdicts) if verdict not in VERDICTS]
    return Ledger(
        claims=claims,
        counts=tuple((verdict, verdicts.count(verdict)) for verdict in [*VERDICTS, *others]),
        sections=tuple(dict.fromkeys(claim.section for claim in claims if claim.section)),
        caption=captions.read(sources.root, LEDGER),
        data=sources.link(path),
        code=_code(sources, made.module),
    )


def _text(value: object) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _claim(sources: Sources, made: MadeArtifact, rows: Sequence[Mapping[str, str]]) -> ShownClaim:
    """The rows of one claim: the one that the run's own switches choose, and its variants."""
    headline = next((row for row in rows if row.get("headline", "True") == "True"), rows[0])
    columns = {field.name for field in fields(ShownClaim)} - {"data", "variants"}
    numbers = ("measured", "quantity", "uncertainty")
    variants = tuple(
        ShownVariant(row["variant"], *(row.get(key, "") for key in numbers), row["verdict"])
        for row in rows
        if row is not headline
    )
    return ShownClaim(
        **{key: headline.get(key, "") for key in columns},
        data=_claim_data(sources, made, headline.get("data", "")),
        variants=variants,
    )


def _claim_data(sources: Sources, made: MadeArtifact, text: str) -> tuple[Link, ...]:
    """The files behind a claim; `text` names inputs of the ledger, files of the run, or ids of tables."""
    links = []
    for name in text.replace(",", " ").replace(";", " ").split():
        inputs = [Path(made.data[name])] if name in made.data else []
        places = [*inputs, sources.run / name, sources.run / "tables" / f"{name}.csv", sources.root / name]
        file = next((place for place in places if place.is_file()), None)
        links.append(Link(name, None) if file is None else sources.link(file))
    return tuple(links)


def switches(root: Path, fidelity: Mapping[str, object]) -> Rows:
    """The fidelity switches: key, value in this run, value under each of the two protocols, what it decides."""
    files = [root / PROTOCOLS / f"{name}.yaml" for name in ("published", "stated")]
    protocols = [yaml.safe_load(file.read_text(encoding="utf-8"))["fidelity"] for file in files]
    descriptions = load_schema(root)["properties"]["fidelity"]["properties"]
    return tuple(
        (
            key,
            *(_plain(values.get(key)) for values in (fidelity, *protocols)),
            descriptions.get(key, {}).get("description", ""),
        )
        for key in fidelity
    )


def _plain(value: object) -> str:
    """A setting as config.yaml writes it."""
    return yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()

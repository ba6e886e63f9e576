"""What the report page shows, as plain data: the templates only lay it out.

Links are relative to the page, so that a run can be moved as a whole. `html` fields hold safe markup made from
the captions; everything else is text, which the templates escape.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided at this scale"
VERDICTS = (HOLDS, FAILS, UNDECIDED)


@dataclass(frozen=True)
class Link:
    """A file the page points to; without `href` it is named only, because it is not there."""

    text: str
    href: str | None


@dataclass(frozen=True)
class Caption:
    """The first sentence, as markup and as plain text, and the rest of it."""

    lead: Markup
    text: str
    rest: Markup


@dataclass(frozen=True)
class Item:
    """What figures and tables have in common: a name, a place in the paper, and where they come from."""

    id: str
    title: str
    paper: str
    caption: Caption
    data: tuple[Link, ...]
    code: Link


@dataclass(frozen=True)
class Figure(Item):
    """A picture; `source` is its data URI."""

    source: str
    width: int
    height: int
    alt: str


@dataclass(frozen=True)
class Table(Item):
    """A table as a reader sees it: text in every cell; `printed` marks the columns with the paper's numbers."""

    columns: tuple[str, ...]
    printed: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


@dataclass(frozen=True)
class Part:
    """A part of the study with its figures and tables."""

    id: str
    title: str
    about: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Variant:
    """The same claim under another value of a fidelity switch."""

    name: str
    measured: str
    uncertainty: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """One claim as this run's switches read it, and its other variants."""

    id: str
    section: str
    claim: str
    printed: str
    measured: str
    uncertainty: str
    count: str
    verdict: str
    reading: str
    test: str
    variant: str
    data: tuple[Link, ...]
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class Ledger:
    """The claims, how many have each verdict, and the table they are from."""

    claims: tuple[Claim, ...]
    counts: tuple[tuple[str, int], ...]
    sections: tuple[str, ...]
    caption: Caption
    data: Link
    code: Link


@dataclass(frozen=True)
class Switch:
    """A fidelity switch: its value in this run and under each protocol."""

    key: str
    value: str
    published: str
    stated: str
    about: str


@dataclass(frozen=True)
class Diverged:
    """Runs of one method on one problem that have samples which are not finite."""

    study: str
    problem: str
    method: str
    diverged: int
    cells: int
    n: str


@dataclass(frozen=True)
class Uncertified:
    """Reference posteriors of one problem that did not pass their checks."""

    study: str
    problem: str
    failed: int
    references: int
    n: str


@dataclass(frozen=True)
class Usage:
    """What the jobs of a part used, by Snakemake's benchmark records."""

    part: str
    jobs: int
    core_hours: float
    longest_minutes: float
    peak_mb: float


@dataclass(frozen=True)
class Page:
    """The whole page."""

    run: str
    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    settings: str
    ledger: Ledger | None
    parts: tuple[Part, ...]
    references: Table | None
    switches: tuple[Switch, ...]
    diverged: tuple[Diverged, ...]
    uncertified: tuple[Uncertified, ...]
    usage: tuple[Usage, ...]
    cost: Table | None

    @property
    def diverged_rows(self) -> list[tuple[str, ...]]:
        return [
            (row.study, row.problem, row.method, str(row.diverged), str(row.cells), row.n)
            for row in self.diverged
        ]

    @property
    def uncertified_rows(self) -> list[tuple[str, ...]]:
        return [
            (row.study, row.problem, str(row.failed), str(row.references), row.n) for row in self.uncertified
        ]

    @property
    def switch_rows(self) -> list[tuple[str, ...]]:
        return [(row.key, row.value, row.published, row.stated, row.about) for row in self.switches]

    @property
    def usage_rows(self) -> list[tuple[str, ...]]:
        return [
            (
                row.part,
                str(row.jobs),
                f"{row.core_hours:.2f}",
                f"{row.longest_minutes:.1f}",
                f"{row.peak_mb:.0f}",
            )
            for row in self.usage
        ]

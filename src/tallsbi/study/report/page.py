"""What the report page shows, as plain data: the templates only lay it out.

Links are relative to the page, so that a run can be moved as a whole. Fields of type `Markup` hold safe HTML made from
the captions; everything else is text, which the templates escape.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from tallsbi.study.claims.verdicts import Verdict

VERDICTS = HOLDS, FAILS, UNDECIDED = tuple(verdict.value for verdict in Verdict)
Rows = tuple[tuple[str, ...], ...]
"""The rows of a plain table, as text; the templates name the columns."""


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
    """A picture; `source` is its data URI, `png` the same in pixels."""

    source: str
    png: bytes
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
class ShownVariant:
    """The same claim under another value of a fidelity switch."""

    name: str
    measured: str
    quantity: str
    uncertainty: str
    verdict: str


@dataclass(frozen=True)
class ShownClaim:
    """One claim under the switches of this run, and its other variants."""

    id: str
    section: str
    claim: str
    printed: str
    measured: str
    quantity: str  # what the measured number is
    uncertainty: str
    count: str
    units: str  # what was counted
    verdict: str
    reading: str
    test: str
    variant: str
    data: tuple[Link, ...]
    variants: tuple[ShownVariant, ...]

    @property
    def undecided(self) -> bool:
        return self.verdict == UNDECIDED


@dataclass(frozen=True)
class Ledger:
    """The claims, how many have each verdict, and the table they are from."""

    claims: tuple[ShownClaim, ...]
    counts: tuple[tuple[str, int], ...]
    sections: tuple[str, ...]
    caption: Caption
    data: Link
    code: Link

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """A row for each claim, and one for each of its variants: the ledger as a plain table."""
        rows = []
        for claim in self.claims:
            text = f"{claim.claim} ({claim.variant})" if claim.variant else claim.claim
            first = (claim.id, claim.section, text, claim.printed, claim.measured, claim.quantity)
            rows.append((*first, claim.uncertainty, claim.verdict, claim.reading))
            for variant in claim.variants:
                numbers = ("", variant.measured, variant.quantity, variant.uncertainty, variant.verdict, "")
                rows.append((claim.id, claim.section, f"({variant.name})", *numbers))
        return rows


@dataclass(frozen=True)
class Page:
    """The whole page. `switches`: the fidelity switches; `usage`: what the jobs of each part took."""

    run: str
    scale: str
    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    settings: str
    ledger: Ledger | None
    parts: tuple[Part, ...]
    references: Table | None
    switches: Rows
    lost: Rows
    uncertified: Rows
    usage: Rows
    cost: Table | None

    @property
    def key_figures(self) -> list[Figure]:
        """What the page opens with: the first figure of every part."""
        return [part.figures[0] for part in self.parts if part.figures][:4]

"""Pages from templates: the report as one HTML file that loads nothing, and the gallery as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tallsbi.study.report import captions
from tallsbi.study.report.page import FAILS, HOLDS, UNDECIDED, Page

TEMPLATES = Path(__file__).parent / "templates"
_VERDICT_KINDS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided"}
_SINGULARS = {UNDECIDED: "is undecided at this scale"}
_PLURALS = {HOLDS: "hold", FAILS: "do not hold", UNDECIDED: "are undecided at this scale"}


def to_html(page: Page) -> str:
    """The finished report page."""
    return render("index.html.j2", page=page)


def render(template: str, **values: object) -> str:
    """A template with its values."""
    return _environment().get_template(template).render(**values)


def verdict_kind(verdict: str) -> str:
    """The short name of a verdict, for the style sheet."""
    return _VERDICT_KINDS.get(verdict, "other")


def sums(counts: Iterable[tuple[str, int]]) -> str:
    """The number of claims with each verdict, as a part of a sentence in Markdown."""
    return ", ".join(
        f"**{count}** {_PLURALS.get(verdict, verdict) if count != 1 else verdict}"
        for verdict, count in counts
        if count
    )


def outcome(counts: Iterable[tuple[str, int]]) -> str:
    """The number of claims with each verdict, as the first sentence of the page."""
    phrases = [
        f"{count} {_PLURALS.get(verdict, verdict) if count != 1 else _SINGULARS.get(verdict, verdict)}"
        for verdict, count in counts
        if count
    ]
    total = sum(count for _, count in counts)
    listed = " and ".join([", ".join(phrases[:-1]), phrases[-1]] if len(phrases) > 1 else phrases)
    return f"Of {total} claims of the paper, {listed}." if phrases else "No claim was tested."


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "*`[]" else character for character in plain)


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return escape(text).replace("|", "&#124;")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is None or not name.endswith(".md.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"verdict_kind": verdict_kind, "sums": sums, "outcome": outcome, "cell": cell}
    environment.filters |= {"md": escape, "plain": captions.plain}
    return environment

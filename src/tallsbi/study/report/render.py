"""The page as one HTML file: style, script and pictures inside, nothing loaded from elsewhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tallsbi.study.report.page import FAILS, HOLDS, UNDECIDED, Page

TEMPLATES = Path(__file__).parent / "templates"
_KINDS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided"}


def to_html(page: Page) -> str:
    """The finished page."""
    return _environment().get_template("index.html.j2").render(page=page)


def verdict_kind(verdict: str) -> str:
    """The short name of a verdict, for the style sheet."""
    return _KINDS.get(verdict, "other")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["verdict_kind"] = verdict_kind
    return environment

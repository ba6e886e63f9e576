"""Captions: the reStructuredText that Snakemake's own report uses as well, as HTML."""

from __future__ import annotations

import html
import re
from pathlib import Path

from docutils.core import publish_parts
from markupsafe import Markup

from tallsbi.study.report.page import Caption

FOLDER = "workflow/report"
# A sentence ends before a capital letter; `l-C2ST (App. F)` and the like do not occur in a first sentence.
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_TAG = re.compile(r"<[^>]+>")
# So that no caption reads files or holds raw HTML, and any mistake is an error.
_DOCUTILS_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "halt_level": 2,
    "report_level": 5,
    "initial_header_level": 5,
    "_disable_config": True,
}


def read(root: Path, name: str) -> Caption:
    """The caption of a figure or table; an empty one where there is none."""
    path = root / FOLDER / f"{name}.rst"
    return (
        parse(path.read_text(encoding="utf-8"), str(path))
        if path.is_file()
        else Caption(Markup(), "", Markup())
    )


def parse(text: str, source: str = "caption") -> Caption:
    """Splits off the first sentence and turns both pieces into HTML."""
    first, *rest = _SENTENCE.split(text.strip(), maxsplit=1)
    lead = to_html(first, source)
    return Caption(lead, plain(lead), to_html(" ".join(rest), source))


def to_html(text: str, source: str = "caption") -> Markup:
    """The body of a piece of reStructuredText; a mistake in it is an error that names the file."""
    if not text.strip():
        return Markup()
    parts = publish_parts(text, source_path=source, writer="html5", settings_overrides=_DOCUTILS_SETTINGS)
    return Markup(parts["fragment"].strip())


def plain(markup: str) -> str:
    """The text of a piece of HTML, on one line."""
    return " ".join(html.unescape(_TAG.sub("", markup)).split())

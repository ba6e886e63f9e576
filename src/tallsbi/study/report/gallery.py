"""The gallery: figures, tables and claims of a finished run as Markdown and small pictures, to be kept in docs/.

    python -m tallsbi.study.report.gallery [--scale laptop] [--protocol NAME] [--config 'KEY=VALUE ...']

It writes docs/gallery/README.md, figures/*.png and tables/*.md, and removes what a former gallery left there.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL import Image

from tallsbi.runner.options import chosen_run, options
from tallsbi.storage.files import DataError, atomic_path, write_text
from tallsbi.study.report import captions
from tallsbi.study.report.gather import read_page
from tallsbi.study.report.page import Claim, Figure, Ledger, Page, Part, Table

FOLDER = "docs/gallery"
LIMIT = 150_000  # bytes of a picture: a repository is no place for more
_COLOURS = (256, 128, 64)
_SMALLER = 0.85


def write_gallery(page: Page, target: Path) -> list[Path]:
    """Writes the gallery of a run into a folder; returns the files, the entry page first."""
    figures = {figure.id: figure for part in page.parts for figure in part.figures}
    tables = [table for part in page.parts for table in part.tables]
    tables += [table for table in (page.references, page.cost) if table is not None]
    written = {target / "README.md": readme(page)}
    written |= {target / "tables" / f"{table.id}.md": _table_page(table) for table in tables}
    if page.ledger is not None:
        written[target / "claims.md"] = _claims_page(page.ledger)
    pictures = {
        target / "figures" / f"{name}.png": small_png(_bytes(figure)) for name, figure in figures.items()
    }
    for path, text in written.items():
        write_text(text, path)
    for path, content in pictures.items():
        with atomic_path(path) as temporary:
            temporary.write_bytes(content)
    _remove_others(target, {*written, *pictures})
    return [*written, *pictures]


def _remove_others(target: Path, kept: set[Path]) -> None:
    """Removes what an earlier gallery had and this one has not."""
    for pattern in ("figures/*.png", "tables/*.md", "claims.md"):
        for path in target.glob(pattern):
            if path not in kept:
                path.unlink()


def _bytes(figure: Figure) -> bytes:
    return base64.b64decode(figure.source.partition(",")[2])


def small_png(content: bytes, limit: int = LIMIT) -> bytes:
    """The picture in fewer colours, and smaller if that is not enough, in at most `limit` bytes."""
    with Image.open(io.BytesIO(content)) as opened:
        # On white: a palette has no half-transparent colours.
        picture = Image.alpha_composite(
            Image.new("RGBA", opened.size, "white"), opened.convert("RGBA")
        ).convert("RGB")
    while True:
        for colours in _COLOURS:
            content = _encoded(picture.quantize(colours, dither=Image.Dither.NONE))
            if len(content) <= limit:
                return content
        size = tuple(int(_SMALLER * side) for side in picture.size)
        if min(size) < 1:
            raise ValueError(f"limit = {limit}: no picture is that small; give more bytes")
        picture = picture.resize(size, Image.Resampling.LANCZOS)


def _encoded(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


# Verdicts as verbs of several claims.
_VERBS = {
    "holds": "hold",
    "does not hold": "do not hold",
    "undecided at this scale": "are undecided at this scale",
}


def readme(page: Page) -> str:
    """The entry page: what was run, the verdicts, and every part with its figures and tables."""
    lines = [
        "# Gallery",
        "",
        f"What the study makes, as the run `{page.run}` made it. `make gallery` writes this folder: edit nothing here.",
        "",
        *_markdown_table(["", ""], page.facts),
        "",
    ]
    if page.ledger is not None:
        count = len(page.ledger.claims)
        sums = ", ".join(
            f"**{number}** {_VERBS.get(verdict, verdict) if number != 1 else verdict}"
            for verdict, number in page.ledger.counts
            if number
        )
        lines += ["## Claims", "", f"Of the paper's {count} claims {sums}. [The ledger](claims.md).", ""]
    for part in page.parts:
        lines += _part(part)
    if page.references is not None or page.cost is not None:
        lines += ["## References and cost", ""]
        lines += [_table_link(table) for table in (page.references, page.cost) if table is not None]
        lines += [""]
    return "\n".join(lines)


def _part(part: Part) -> list[str]:
    lines = [f"## {escape(part.title)}", "", escape(part.about), ""]
    for figure in part.figures:
        where = f" ({escape(figure.paper)})" if figure.paper else ""
        lines += [f"### {escape(figure.title)}{where}", ""]
        lines += [f"![{escape(figure.alt).replace('[', '(').replace(']', ')')}](figures/{figure.id}.png)", ""]
        lines += [escape(figure.caption.text), "", *_more(captions.plain(figure.caption.rest))]
    if part.tables:
        lines += ["### Tables", "", *map(_table_link, part.tables), ""]
    return lines


def _more(text: str) -> list[str]:
    return (
        ["<details><summary>How to read it</summary>", "", escape(text), "", "</details>", ""] if text else []
    )


def _table_link(table: Table) -> str:
    where = f" ({escape(table.paper)})" if table.paper else ""
    return f"- [{escape(table.title)}](tables/{table.id}.md){where}"


def _table_page(table: Table) -> str:
    lines = [f"# {escape(table.title)}", "", escape(table.caption.text), ""]
    lines += [*_markdown_table(table.columns, table.rows), "", escape(table.note), ""]
    return "\n".join([*lines, *_more(captions.plain(table.caption.rest)), "[Gallery](../README.md)", ""])


def _claims_page(ledger: Ledger) -> str:
    columns = ["id", "section", "claim", "printed", "measured", "uncertainty", "verdict", "reading"]
    rows = [row for claim in ledger.claims for row in _claim_rows(claim)]
    lead = ledger.caption.text or "What the paper claims, what it prints, and what the run measures."
    lines = ["# Claims", "", escape(lead), "", *_markdown_table(columns, rows), ""]
    return "\n".join([*lines, *_more(captions.plain(ledger.caption.rest)), "[Gallery](README.md)", ""])


def _claim_rows(claim: Claim) -> list[tuple[str, ...]]:
    """A row for the claim and one for each of its variants."""
    text = f"{claim.claim} ({claim.variant})" if claim.variant else claim.claim
    first = (claim.id, claim.section, text, claim.printed, claim.measured, claim.uncertainty)
    others = [
        (claim.id, claim.section, f"({each.name})", "", each.measured, each.uncertainty, each.verdict, "")
        for each in claim.variants
    ]
    return [(*first, claim.verdict, claim.reading), *others]


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(escape(cell).replace('|', '&#124;') for cell in cells)} |"

    return [line(columns), f"|{' --- |' * len(columns)}", *map(line, rows)]


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "*`[]" else character for character in plain)


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    given, root = options(__doc__.splitlines()[0]).parse_args(arguments), root or Path.cwd()
    given.scale = given.scale or "laptop"
    try:
        page = read_page(root, root / chosen_run(given, root).folder)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    paths = write_gallery(page, root / FOLDER)
    size = sum(path.stat().st_size for path in paths)
    print(f"{paths[0].relative_to(root)}: {len(paths)} files, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

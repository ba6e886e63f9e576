"""The gallery: figures, tables and claims of a finished run as Markdown and small pictures, to be kept in docs/.

    python -m tallsbi.study.report.gallery [--scale laptop] [--protocol NAME] [--config 'KEY=VALUE ...']

It writes docs/gallery/README.md, figures/*.png and tables/*.md, and removes what a former gallery left there. The tidy
data behind them go to results/published, in place of what was there.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from tallsbi.runner.options import chosen_run, settings_parser
from tallsbi.storage.files import DataError, atomic_path, write_text
from tallsbi.study.report import published
from tallsbi.study.report.gather import read_page
from tallsbi.study.report.page import Page
from tallsbi.study.report.record import read
from tallsbi.study.report.render import render

FOLDER = "docs/gallery"
MAX_PICTURE_BYTES = 150_000  # so that the repository stays small
_PALETTE_SIZES = (256, 128, 64)
_SHRINK_FACTOR = 0.85


def write_gallery(page: Page, target: Path) -> list[Path]:
    """Writes the gallery of a run into a folder; returns the files, the entry page first."""
    figures = {figure.id: figure for part in page.parts for figure in part.figures}
    tables = [table for part in page.parts for table in part.tables]
    tables += [table for table in (page.references, page.cost) if table is not None]
    written = {target / "README.md": render("gallery.md.j2", page=page)}
    for table in tables:
        written[target / "tables" / f"{table.id}.md"] = render("gallery_table.md.j2", table=table)
    if page.ledger is not None:
        written[target / "claims.md"] = render("gallery_claims.md.j2", ledger=page.ledger)
    pictures = {target / "figures" / f"{name}.png": small_png(figure.png) for name, figure in figures.items()}
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


def small_png(content: bytes, limit: int = MAX_PICTURE_BYTES) -> bytes:
    """The picture in fewer colours, and smaller if that is not enough, in at most `limit` bytes."""
    with Image.open(io.BytesIO(content)) as original:
        # On white: a palette has no half-transparent colours.
        picture = Image.alpha_composite(
            Image.new("RGBA", original.size, "white"), original.convert("RGBA")
        ).convert("RGB")
    while True:
        for colours in _PALETTE_SIZES:
            content = _encoded(picture.quantize(colours, dither=Image.Dither.NONE))
            if len(content) <= limit:
                return content
        size = tuple(int(_SHRINK_FACTOR * side) for side in picture.size)
        if min(size) < 1:
            raise ValueError(f"limit = {limit}: no picture is that small; give more bytes")
        picture = picture.resize(size, Image.Resampling.LANCZOS)


def _encoded(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    chosen, root = settings_parser(__doc__.splitlines()[0]).parse_args(arguments), root or Path.cwd()
    chosen.scale = chosen.scale or "laptop"
    run = root / chosen_run(chosen, root).folder
    try:
        page = read_page(root, run)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    paths = write_gallery(page, root / FOLDER)
    data = (
        []
        if run == root / published.FOLDER
        else published.publish(read(run)[0], run, root / published.FOLDER)
    )
    for first, written in ((paths[0], paths), (root / published.FOLDER, data)):
        size = sum(path.stat().st_size for path in written)
        print(f"{first.relative_to(root)}: {len(written)} files, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

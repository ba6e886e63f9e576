"""A run whose tables and figures are made up, for the tests of pages that only show them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

from PIL import Image

from study import Study


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "white").save(buffer, "PNG")
    return buffer.getvalue()


CONTENT = {
    "png": png(),
    "pdf": b"%PDF",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>',
    "tex": b"",
    "md": b"# A title\n\n| id | paper |\n|:--|--:|\n| a | 1 |\n\nA note.\n",
    # With the columns that the ledger of claims must have.
    "csv": b"id,claim,verdict\n1,something,holds\n",
}


def missing_inputs(study: Study, *arguments: str) -> list[str]:
    """The files that Snakemake says it lacks for a target."""
    refused = study.snakemake("--dry-run", "--cores", "1", *arguments)
    missing = re.findall(r"results/smoke/\S+\.(?:png|pdf|svg|tex|md|csv)\b", refused.stdout + refused.stderr)
    assert missing, refused.stderr
    return missing


def make_up_run(root: Path, names: Iterable[str]) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT[path.suffix[1:]])

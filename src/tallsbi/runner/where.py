"""Say where a finished run has put its tables and figures.

    python -m tallsbi.runner.where [--scale NAME] [--protocol NAME] [--config 'KEY=VALUE ...'] [--directory]

What is not given comes from config.yaml. Ends with code 1 if the run has neither tables nor figures. `--directory`:
print the directory of the run alone, whether it is there or not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tallsbi.runner.launch import options, run_of

REPORTS = ("report/index.html", "snakemake-report.zip")  # our page, and the one Snakemake makes


def artifacts(folder: Path) -> set[str]:
    """Names of what a folder holds: one table or figure is there in several formats, and with a record beside."""
    files = folder.iterdir() if folder.is_dir() else ()
    return {path.name.split(".")[0] for path in files if path.is_file() and not path.name.startswith(".")}


def describe(run: Path, shown: Path) -> list[str]:
    """One line for each kind of output in the directory `run`, which the lines call `shown`."""
    rows = []
    for kind in ("tables", "figures"):
        count = len(artifacts(run / kind))
        if count:
            noun = kind if count > 1 else kind[:-1]
            rows.append((kind.capitalize(), str(shown / kind), f"({count} {noun})"))
    rows += [("Report", str(shown / name), "") for name in REPORTS if (run / name).is_file()]
    width = max((len(place) for _, place, _ in rows), default=0)
    return [f"{title:<8} {place:<{width}}   {note}".rstrip() for title, place, note in rows]


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--directory", action="store_true", help="print the directory of the run alone")
    given, root = parser.parse_args(arguments), root or Path.cwd()
    shown = Path("results") / run_of(given, root)
    if given.directory:
        print(shown)
        return 0
    lines = describe(root / shown, shown)
    if not lines:
        print(f"{shown} has no tables or figures yet", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Say where a finished run has put its tables and figures.

    python -m tallsbi.study.where [--scale NAME] [--protocol NAME] [--run NAME] [--directory]

What is not given comes from config.yaml. Ends with code 1 if the run has neither tables nor figures. `--directory`:
print the directory of the run alone, whether it is there or not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from tallsbi.study.config import run_name

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
    parser = argparse.ArgumentParser(
        prog="python -m tallsbi.study.where", description=__doc__.splitlines()[0]
    )
    for name in ("scale", "protocol", "run"):
        parser.add_argument(f"--{name}", help="default: from config.yaml")
    parser.add_argument("--directory", action="store_true", help="print the directory of the run alone")
    given = {key: value for key, value in vars(parser.parse_args(arguments)).items() if value}
    alone = given.pop("directory", False)
    root = root or Path.cwd()
    config = yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    shown = Path("results") / run_name(config | given)
    if alone:
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

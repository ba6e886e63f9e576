"""The claims ledger of a run that is not finished: `python -m tallsbi.study.report.so_far`, or `make ledger`.

Table `claims` waits for the data of every part. Here a test whose data are not made yet says so, and the others judge
as they do in the table. Nothing is computed but the verdicts.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tallsbi.runner.config import ConfigError, resolve
from tallsbi.runner.options import Run, chosen_run, settings_parser
from tallsbi.storage.files import DataError, table_text, write_text
from tallsbi.study import artifacts
from tallsbi.study.claims.verdicts import DECIDED
from tallsbi.study.config_rules import problems
from tallsbi.study.make_artifact import read
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.artifacts import ClaimsTable
from tallsbi.study.tables import claims
from tallsbi.study.tables.render import Table, to_markdown

TITLE = "The paper's claims on what this run has so far"
NAME = "claims/so_far"


def ledger_so_far(run: Run) -> Table:
    """The ledger on the tidy data that a run has."""
    config = resolve(run.over_file()[0], run.root, problems)
    artifact = artifacts.read(run.root, Study(config)).artifacts["claims"]
    settings = artifact.settings
    assert isinstance(settings, ClaimsTable)
    there = {name: path for name, path in artifact.data.items() if (run.root / path).is_file()}
    lacking = {name: path for name, path in artifact.needed.items() if name not in there}
    if lacking == artifact.needed:
        raise DataError(
            f"{run.folder} has none of the data that claims are judged by; `make results` makes them, such as "
            f"{artifact.data['toy_distances']}."
        )
    not_made = {name: Path(path).relative_to(run.folder).as_posix() for name, path in lacking.items()}
    data = {name: read(str(run.root / path)) for name, path in there.items()}
    return claims.make(data, settings, not_made)


def in_lines(table: Table) -> list[str]:
    """What is decided, a line per claim, and how many are not."""
    headline = table.tidy[table.tidy.headline]
    decided = headline[headline.verdict.isin([str(verdict) for verdict in DECIDED])]
    lines = [
        f"{row.id}  {row.verdict:13}  {textwrap.shorten(row.claim, 92, placeholder=' ...')}"
        for row in decided.itertuples()
    ]
    waiting = int((~headline.id.isin(decided.id) & headline.reading.str.contains("not made yet")).sum())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in decided.verdict.value_counts().items())
    return [
        *lines,
        f"{len(decided)} of {len(headline)} claims are decided ({counts or 'none'}); of the others {waiting} wait for "
        "data that are not made yet.",
    ]


def main(arguments: Sequence[str] | None = None, root: Path | None = None) -> int:
    parser = settings_parser(__doc__.splitlines()[0])
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    run = chosen_run(parser.parse_args(arguments), root or Path.cwd())
    try:
        table = ledger_so_far(run)
    except (DataError, ConfigError) as error:
        print(error, file=sys.stderr)
        return 1
    for suffix, text in (("csv", table_text(table.tidy)), ("md", to_markdown(table, TITLE))):
        write_text(text, run.root / run.folder / f"{NAME}.{suffix}")
    print("\n".join(in_lines(table)))
    print(f"Ledger: {run.folder}/{NAME}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Draw the tables, figures and page of a run again from its tidy data, and compute nothing.

Snakemake is allowed no other rules than those that draw: whatever of the data is missing or made by other code stays
as it is.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable

from tallsbi.runner import launch
from tallsbi.runner.options import Run

TARGET = "redraw"


def start(run: Run, prefixes: Iterable[str], arguments: str) -> int:
    """Becomes Snakemake with the rules that begin with one of the prefixes; returns an exit code if it cannot."""
    if not (run.root / run.folder).is_dir():
        print(
            f"{run.folder} does not exist, so there is nothing to draw from: `make results` computes a run.",
            file=sys.stderr,
        )
        return 1
    command = [sys.executable, "-m", "snakemake", "--list-rules", *run.options]
    listing = subprocess.run(command, cwd=run.root, capture_output=True, text=True, check=False)
    if listing.returncode:
        print((listing.stderr or listing.stdout).strip(), file=sys.stderr)
        return 1
    rules = [name for name in listing.stdout.split() if name.startswith(tuple(prefixes))]
    options = [TARGET, "--forceall", "--allowed-rules", TARGET, *rules]
    return launch.start(run, f"{shlex.join(options)} {arguments}")

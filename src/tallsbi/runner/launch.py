"""Start a run: check that it can start here, then become Snakemake."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from tallsbi.runner import guard
from tallsbi.runner.config import is_run_name
from tallsbi.runner.options import Run, words

# With these options Snakemake would run another configuration than the one that `guard` has checked.
_SETTINGS_OPTIONS = {"--config", "-C", "--configfile", "--configfiles"}


def is_dry(arguments: Sequence[str]) -> bool:
    """Whether Snakemake is only asked what it would do: `--dry-run`, or `n` among its short options."""
    return any(
        word in ("--dry-run", "--dryrun") or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in arguments
    )


def start(run: Run, arguments: str) -> int:
    """Becomes Snakemake with these arguments besides; returns an exit code if it cannot."""
    extra = words(arguments, "ARGS")
    if _SETTINGS_OPTIONS & {word.partition("=")[0] for word in extra}:
        print("Settings go in CONFIG='key=value ...', not in ARGS.", file=sys.stderr)
        return 2
    if not is_dry(extra) and is_run_name(run.name):  # a bad name is explained by the Snakefile
        notes = guard.prepare(run.root, run.name)
        if notes:
            print(f"Taking up the work: {'; '.join(notes)}.", file=sys.stderr)
    command = ["snakemake", "--cores", "all", *extra, *(["--config", *run.settings] if run.settings else [])]
    sys.stdout.flush()
    # In place of this process, so that signals reach Snakemake and its process number is the one make knows.
    os.execv(sys.executable, [sys.executable, "-m", *command])

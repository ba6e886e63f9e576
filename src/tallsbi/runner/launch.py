"""Start a run: check that it can start here, then become Snakemake."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence

from tallsbi.runner import guard
from tallsbi.runner.ahead import make_ahead
from tallsbi.runner.config import is_run_name
from tallsbi.runner.options import Run, split_words

# With these options Snakemake would run another configuration than the one that `guard` has checked.
_SETTINGS_OPTIONS = {"--config", "-C", "--configfile", "--configfiles"}
# What Snakemake prints for these is shown as it is.
_OTHER_OUTPUT = re.compile(
    r"--(unlock|report|lint|summary|detailed-summary|list.*|rulegraph|dag|filegraph|d3dag|help|version|archive|"
    r"quiet|verbose|logger|cleanup-metadata|print-compilation|delete-.*|debug.*)(=.*)?|-[a-zA-Z]*[qhlSDv][a-zA-Z]*"
)
# With these it runs only a part of the jobs that the targets need, or marks files as made without making them.
_PARTIAL_RUN = re.compile(r"--(touch|until|omit-from|allowed-rules)(=.*)?|-[a-zA-Z]*[tUO][a-zA-Z]*")
DISPLAY_PLUGIN = "snakemake_logger_plugin_tallsbi"


def display_options(arguments: Sequence[str]) -> list[str]:
    """Snakemake's options for the display: none with VERBOSE=1, and where other output is asked for."""
    verbose = os.environ.get("VERBOSE", "") not in ("", "0")
    if verbose or any(_OTHER_OUTPUT.fullmatch(word) for word in arguments):
        return []
    return ["--logger", "tallsbi"] if importlib.util.find_spec(DISPLAY_PLUGIN) else []


def is_dry(arguments: Sequence[str]) -> bool:
    """Whether Snakemake is only asked what it would do: `--dry-run`, or `n` among its short options."""
    return any(
        word in ("--dry-run", "--dryrun") or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in arguments
    )


def is_full_run(arguments: Sequence[str]) -> bool:
    """Whether Snakemake is asked to run all jobs that its targets need, and nothing else."""
    is_other = any(_OTHER_OUTPUT.fullmatch(word) or _PARTIAL_RUN.fullmatch(word) for word in arguments)
    return not is_other and not is_dry(arguments)


def start(run: Run, arguments: str) -> int:
    """Becomes Snakemake with these further arguments; returns an exit code if it cannot."""
    extra = split_words(arguments, "ARGS")
    if _SETTINGS_OPTIONS & {word.partition("=")[0] for word in extra}:
        print("Settings go in CONFIG='key=value ...', not in ARGS.", file=sys.stderr)
        return 2
    if not is_dry(extra) and is_run_name(run.name):  # a bad name is explained by the Snakefile
        notes = guard.prepare(run.root, run.name)
        if notes:
            print(f"Taking up the work: {'; '.join(notes)}.", file=sys.stderr)
    display = display_options(extra)
    if display and run.settings:
        print(f"Results go to {run.folder}", file=sys.stderr)
    arguments = ["--cores", "all", *extra]
    if is_full_run(extra) and is_run_name(run.name):
        code = make_ahead(run, arguments, display)
        if code is not None:
            return code
    sys.stdout.flush()
    # In place of this process, so that signals reach Snakemake and its process number is the one make knows.
    os.execv(sys.executable, [sys.executable, "-m", "snakemake", *display, *arguments, *run.options])

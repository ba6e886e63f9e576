"""What `make results` starts: look whether a run can start here, then become Snakemake.

    python -m tallsbi.runner.launch [--scale NAME] [--protocol NAME] [--config 'KEY=VALUE ...'] [--args='...']

`--config` and `--args` are split into words as a shell would, quotes included, but no shell sees them: a value
cannot become a command.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tallsbi.runner import guard
from tallsbi.runner.config import ConfigError, is_run_name, read_yaml, run_name

# Options of Snakemake that make a run of another configuration than the one that is looked after here.
_SETTINGS = {"--config", "-C", "--configfile", "--configfiles"}


def options(description: str) -> argparse.ArgumentParser:
    """A parser of the settings that `make` passes on."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", help="default: from config.yaml")
    parser.add_argument("--protocol", help="default: from config.yaml")
    parser.add_argument("--config", default="", help="more settings, as 'key=value ...'")
    return parser


def words(text: str, name: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SystemExit(f"{name}={text!r} cannot be split into words: {error}") from error


def settings(given: argparse.Namespace) -> list[str]:
    """The settings as Snakemake's --config takes them."""
    named = [f"{key}={getattr(given, key)}" for key in ("scale", "protocol") if getattr(given, key)]
    more = words(given.config, "CONFIG")
    for word in more:
        if nested := re.match(r"(\w+)\.([\w.]+)=(.*)", word):
            outer, inner, value = nested.groups()
            block = f"{inner}: {value}"
            while "." in inner:
                inner, _, last = inner.rpartition(".")
                block = f"{inner}: {{{last}: {value}}}"
            raise SystemExit(
                f"CONFIG={given.config!r}: a key below another is given in its block: "
                f"CONFIG='\"{outer}={{{block}}}\"'"
            )
        if not re.match(r"\w+=", word):
            raise SystemExit(
                f"CONFIG={given.config!r}: {word!r} is not of the form key=value; quote what holds spaces"
            )
    return named + more


def run_of(given: argparse.Namespace, root: Path) -> str:
    """The name of the run under results/ that these settings mean; the Snakefile is who checks them."""
    config, wrong = read_yaml(root, "config.yaml")
    pairs = [word.partition("=") for word in settings(given)]
    chosen = {key: value for key, _, value in pairs if key in ("scale", "protocol", "run")}
    lacking = [key for key in ("scale", "protocol") if key not in config | chosen]
    wrong = wrong or [f"config.yaml: {key} is missing; add a line `{key}: ...`" for key in lacking]
    if wrong:
        raise SystemExit(str(ConfigError(wrong)))
    return run_name(config | chosen)


def is_dry(arguments: Sequence[str]) -> bool:
    """Whether Snakemake is only asked what it would do: `--dry-run`, or `n` among its short options."""
    return any(
        word in ("--dry-run", "--dryrun") or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in arguments
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--args", default="", help="more arguments of snakemake")
    given, root = parser.parse_args(arguments), Path.cwd()
    extra, wanted = words(given.args, "ARGS"), settings(given)
    if _SETTINGS & {word.partition("=")[0] for word in extra}:
        print("Settings go in CONFIG='key=value ...', not in ARGS.", file=sys.stderr)
        return 2
    run = run_of(given, root)
    if not is_dry(extra) and is_run_name(run):  # a bad name is explained by the Snakefile
        try:
            notes = guard.prepare(root, run)
        except guard.GuardError as error:
            print(error, file=sys.stderr)
            return 1
        if notes:
            print(f"Taking up the work: {'; '.join(notes)}.", file=sys.stderr)
    command = ["snakemake", "--cores", "all", *extra, *(["--config", *wanted] if wanted else [])]
    sys.stdout.flush()
    # In place of this process, so that signals reach Snakemake and its number is the one make knows.
    os.execv(sys.executable, [sys.executable, "-m", *command])


if __name__ == "__main__":
    sys.exit(main())

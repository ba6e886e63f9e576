"""`snakemake --lint` without the advice that this workflow does not follow, for the reasons given here.

    python workflow/lint.py

Ends with code 1 if any other advice is left.
"""

from __future__ import annotations

import re
import subprocess
import sys

NOT_FOLLOWED = {
    "Specify a conda environment or container for each rule.": (
        "all rules share the one environment of envs/, which `make env` builds"
    ),
    "Mixed rules and functions in same snakefile.": (
        "a function that only one file of rules uses stands beside those rules"
    ),
}


def advice(text: str) -> list[str]:
    """Each piece of advice in the linter's output, with its subject; raises on output of another form."""
    pieces, subject = [], ""
    for line in text.splitlines():
        if line.startswith("Lints for "):
            subject = line.removeprefix("Lints for ").rstrip(":")
        elif match := re.fullmatch(r"    \* (.*):", line):
            pieces.append(f"{subject}: {match[1]}")
    if not pieces and "Congratulations" not in text:
        raise ValueError(f"snakemake --lint said neither advice nor congratulations:\n{text}")
    return pieces


def to_follow(pieces: list[str]) -> list[str]:
    return [piece for piece in pieces if not piece.endswith(tuple(NOT_FOLLOWED))]


def main() -> int:
    command = [sys.executable, "-m", "snakemake", "--lint"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    remaining = to_follow(advice(done.stdout + done.stderr))
    print("\n".join(remaining) or "snakemake --lint: no advice left to follow")
    return int(bool(remaining))


if __name__ == "__main__":
    sys.exit(main())

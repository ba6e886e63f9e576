"""What Snakemake prints of the jobs it would run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_RULE = re.compile(r"^(?:local)?rule (\w+):$")
_FIELD = re.compile(r"^    (\w+): (.*)$")

OPTIONS = ("--dry-run", "--nolock", "--nocolor")


def printed_jobs(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each job's rule and its fields (input, output, reason, resources, ...) as text.

    A job without output only names targets.
    """
    rule, fields = "", {}
    for line in [*text.splitlines(), "rule end:"]:
        if match := _RULE.match(line):
            if rule:
                yield rule, fields
            rule, fields = match[1], {}
        elif match := _FIELD.match(line):
            fields.setdefault(match[1], match[2])


def paths(fields: dict[str, str], name: str) -> Sequence[str]:
    """The files of one field."""
    return fields[name].split(", ") if name in fields else ()

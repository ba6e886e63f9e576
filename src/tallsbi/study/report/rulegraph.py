"""The picture of the workflow in docs/architecture.md: Snakemake's graph of rules, folded to stages.

    snakemake --cores 1 --rulegraph mermaid-js | python -m tallsbi.study.report.rulegraph

A rule belongs to the stage that its name begins with. An arrow says that a rule of one stage feeds a rule of another.
The block is Mermaid, which GitHub draws.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tallsbi.storage.files import write_text

DOCUMENT = "docs/architecture.md"
START, END = "<!-- make dag: start -->", "<!-- make dag: end -->"
TARGETS = ("all", "toy", "sbibm", "jrnmm")  # rules without a product
# In the order of the picture, with the verbs that their rules begin with.
STAGES = {
    "simulate": ("simulate", "calibrate"),
    "observe": ("observe",),
    "reference": ("reference",),
    "train": ("train",),
    "select": ("select",),
    "sample": ("sample", "illustrate"),
    "measure": ("measure", "test"),
    "time": ("time",),
    "collect": ("collect",),
    "claims": ("check",),
    "tables": ("make",),
    "figures": ("draw",),
    "report": (),
}
EXCEPTIONS = {
    "make_claims": "claims",
    "make_report": "report",
    "collect_costs": "report",
    "make_cost": "report",
}
_NODE = re.compile(r"^\s*(id\d+)\[([^\]]+)\]")
_EDGE = re.compile(r"^\s*(id\d+)\s*-->\s*(id\d+)")


Edges = set[tuple[str, str]]
"""Pairs (from, to): the second uses what the first makes."""


def parse(text: str) -> Edges:
    """The rules in Snakemake's Mermaid output."""
    lines = text.splitlines()
    names = {node[1]: node[2].split("<")[0].strip() for line in lines if (node := _NODE.match(line))}
    if not names:
        raise ValueError("no rule in the graph: pipe the output of `snakemake --rulegraph mermaid-js` in")
    return {(names[edge[1]], names[edge[2]]) for line in lines if (edge := _EDGE.match(line))}


def stage_of(rule: str) -> str:
    """The stage of a rule, by the first word of its name."""
    verb = rule.split("_")[0]
    stage = EXCEPTIONS.get(rule) or next((name for name, verbs in STAGES.items() if verb in verbs), None)
    if stage is None:
        raise ValueError(
            f"rule {rule}: no stage begins with {verb!r}; rename the rule, or add the word to STAGES"
        )
    return stage


def fold(rules: Edges) -> Edges:
    """The edges between stages, without the targets.

    The report reads the data behind figures, tables and claims too; the arrows around these are left out.
    """
    edges = {(stage_of(a), stage_of(b)) for a, b in rules if not {a, b} & set(TARGETS)}
    return {(a, b) for a, b in edges if a != b and (b != "report" or a in ("figures", "tables", "claims"))}


def to_mermaid(edges: Edges) -> str:
    """A Mermaid flow chart, with stages and arrows in the order of `STAGES`."""
    shown = [stage for stage in STAGES if any(stage in edge for edge in edges)]
    arrows = [f"{a} --> {b}" for a in shown for b in shown if (a, b) in edges]
    return "\n    ".join(["flowchart LR", *shown, *arrows])


def insert(document: str, mermaid: str) -> str:
    """The document with its picture replaced."""
    if document.count(START) != 1 or document.count(END) != 1:
        raise ValueError(f"the document must hold the lines `{START}` and `{END}` once each: put them back")
    before, after = document.split(START)[0], document.split(END)[1]
    return f"{before}{START}\n```mermaid\n{mermaid}\n```\n{END}{after}"


def main(root: Path | None = None) -> int:
    path = (root or Path.cwd()) / DOCUMENT
    edges = fold(parse(sys.stdin.read()))
    write_text(insert(path.read_text(encoding="utf-8"), to_mermaid(edges)), path)
    print(f"{DOCUMENT}: {len(edges)} arrows")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The picture of the workflow in docs/architecture.md: Snakemake's graph of rules, folded to what fits on a page.

    snakemake --cores 1 --rulegraph mermaid-js | python -m tallsbi.study.report.rulegraph

Figures and tables have a rule each and look alike from here, so each kind is one box; the other rules stand with
those of their file in workflow/rules/. The block is Mermaid, which GitHub draws.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tallsbi.storage.files import write_text

DOCUMENT = "docs/architecture.md"
RULES = "workflow/rules"
START, END = "<!-- make dag: start -->", "<!-- make dag: end -->"
FOLDED = {"draw_": "figures", "make_": "tables"}  # prefix of the rules made in a loop: the box they share
TARGETS = ("all", "toy", "sbibm", "jrnmm")  # rules without a product
_NODE = re.compile(r"^\s*(id\d+)\[([^\]]+)\]")
_EDGE = re.compile(r"^\s*(id\d+)\s*-->\s*(id\d+)")
_RULE = re.compile(r"^(?:use rule \w+ as|rule) (\w+)(?::| with:)", re.MULTILINE)


@dataclass(frozen=True)
class Graph:
    """Names of rules, and pairs (from, to): the second uses what the first makes."""

    rules: tuple[str, ...]
    edges: frozenset[tuple[str, str]]


def parse(text: str) -> Graph:
    """Snakemake's Mermaid output."""
    lines = text.splitlines()
    names = {found[1]: found[2].split("<")[0].strip() for line in lines if (found := _NODE.match(line))}
    if not names:
        raise ValueError("no rule in the graph: pipe the output of `snakemake --rulegraph mermaid-js` in")
    found = (_EDGE.match(line) for line in lines)
    edges = frozenset((names[edge[1]], names[edge[2]]) for edge in found if edge)
    return Graph(tuple(names.values()), edges)


def rules_by_file(root: Path) -> dict[str, tuple[str, ...]]:
    """The rules that are written out in each file of workflow/rules/."""
    files = sorted((root / RULES).glob("*.smk"))
    found = {path.stem: tuple(_RULE.findall(path.read_text(encoding="utf-8"))) for path in files}
    return {stem: rules for stem, rules in found.items() if rules}


def fold(graph: Graph, written: Iterable[str]) -> Graph:
    """The graph with one box for all figures and one for all tables, without the targets.

    An arrow around such a box is left out: the report reads the data of the figures too, and all those arrows would
    hide the others.
    """
    known = set(written)

    def box(rule: str) -> str:
        kinds = (kind for prefix, kind in FOLDED.items() if rule.startswith(prefix))
        return rule if rule in known else next(kinds, rule)

    kept = [rule for rule in graph.rules if rule not in TARGETS]
    edges = {(box(a), box(b)) for a, b in graph.edges if a in kept and b in kept}
    around = {(a, c) for a, b in edges for other, c in edges if b == other and b in FOLDED.values()}
    shown = frozenset((a, b) for a, b in edges - around if a != b)
    return Graph(tuple(dict.fromkeys(map(box, kept))), shown)


def to_mermaid(graph: Graph, files: Mapping[str, tuple[str, ...]]) -> str:
    """A Mermaid flow chart with a frame for the rules of each file."""
    lines = ["flowchart LR"]
    framed: set[str] = set()
    for stem, rules in files.items():
        mine = [rule for rule in rules if rule in graph.rules]
        framed |= set(mine)
        if mine:
            lines += [
                f'    subgraph {stem}_smk["{stem}.smk"]',
                *(f"        {rule}" for rule in mine),
                "    end",
            ]
    lines += [f"    {rule}([{rule}])" for rule in graph.rules if rule not in framed]
    lines += [f"    {a} --> {b}" for a, b in sorted(graph.edges)]
    return "\n".join(lines)


def insert(document: str, mermaid: str) -> str:
    """The document with its picture replaced."""
    if document.count(START) != 1 or document.count(END) != 1:
        raise ValueError(f"the document must hold the lines `{START}` and `{END}` once each: put them back")
    before, after = document.split(START)[0], document.split(END)[1]
    return f"{before}{START}\n```mermaid\n{mermaid}\n```\n{END}{after}"


def main(root: Path | None = None) -> int:
    root = root or Path.cwd()
    files = rules_by_file(root)
    written = [rule for rules in files.values() for rule in rules]
    graph = fold(parse(sys.stdin.read()), written)
    path = root / DOCUMENT
    write_text(insert(path.read_text(encoding="utf-8"), to_mermaid(graph, files)), path)
    print(f"{DOCUMENT}: {len(graph.rules)} boxes, {len(graph.edges)} arrows")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The picture of the workflow and the map of the package show what is there."""

import io
import re
from pathlib import Path

import pytest

from tallsbi.study.report import rulegraph

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / rulegraph.DOCUMENT).read_text(encoding="utf-8")
SAMPLE = """---
title: DAG
---
flowchart TB
	id0[all]
	id1[make_some_table]
	id2[draw_a]
	id3[draw_b]
	id4[collect_toy]
	id5[make_report]
	style id0 fill:#57D95F,stroke-width:2px,color:#333333
	id1 --> id0
	id2 --> id0
	id3 --> id0
	id4 --> id1
	id4 --> id2
	id4 --> id3
	id1 --> id5
	id2 --> id5
	id4 --> id5
	id5 --> id0
"""
EDGES = {
    ("collect_toy", "tables"),
    ("collect_toy", "figures"),
    ("tables", "make_report"),
    ("figures", "make_report"),
}


def test_figures_and_tables_are_one_box_each_and_targets_are_none():
    graph = rulegraph.fold(rulegraph.parse(SAMPLE), ["collect_toy", "make_report"])
    assert graph.rules == ("tables", "figures", "collect_toy", "make_report")
    assert graph.edges == EDGES


def test_mermaid_has_a_frame_per_file_and_every_arrow():
    graph = rulegraph.fold(rulegraph.parse(SAMPLE), ["collect_toy", "make_report"])
    lines = rulegraph.to_mermaid(
        graph, {"report": ("make_report",), "toy": ("collect_toy", "not_in_this_run")}
    )
    assert "not_in_this_run" not in lines
    assert re.findall(r"subgraph (\w+)", lines) == ["report_smk", "toy_smk"]
    assert {
        tuple(line.split(" --> ")) for line in map(str.strip, lines.splitlines()) if "-->" in line
    } == EDGES


def test_only_the_picture_is_replaced(tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "workflow/rules").mkdir(parents=True)
    (tmp_path / "workflow/rules/toy.smk").write_text("rule collect_toy:\n    input:\n")
    path = tmp_path / rulegraph.DOCUMENT
    path.write_text(f"before\n{rulegraph.START}\nold\n{rulegraph.END}\nafter\n")
    for _ in range(2):
        monkeypatch.setattr("sys.stdin", io.StringIO(SAMPLE))
        assert rulegraph.main(tmp_path) == 0
    text = path.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count("```mermaid") == 1


def test_what_is_no_graph_is_refused():
    with pytest.raises(ValueError, match="no rule in the graph"):
        rulegraph.parse("digraph {}")
    with pytest.raises(ValueError, match="put them back"):
        rulegraph.insert("no place for a picture", "flowchart LR")


def test_picture_shows_every_rule_that_is_written_out():
    picture = DOCUMENT.split(rulegraph.START)[1].split(rulegraph.END)[0]
    written = {rule for rules in rulegraph.rules_by_file(ROOT).values() for rule in rules}
    shown = set(re.findall(r"\w+", picture))
    assert written - shown == set(), "docs/architecture.md is older than the rules: run `make dag`"


def test_map_names_every_room_of_the_package():
    rooms = {path.stem for path in (ROOT / "src/tallsbi").iterdir() if path.stem.isidentifier()}
    rooms -= {"__init__", "__pycache__"}
    table = [line.split("|")[1] for line in DOCUMENT.splitlines() if line.startswith("| `")]
    named = set(re.findall(r"`(\w+)`", " ".join(table)))
    assert rooms - named == set(), "add the new rooms to the map in docs/architecture.md"


def test_map_has_the_order_of_the_layers():
    from test_layers import LAYERS

    table = DOCUMENT.split("## The library")[1]
    rows = [
        set(re.findall(r"`(\w+)`", line.split("|")[1]))
        for line in table.splitlines()
        if line.startswith("| `")
    ]
    assert rows[: len(LAYERS)] == LAYERS

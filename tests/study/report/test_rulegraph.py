"""The picture of the workflow and the map of the package show what is there."""

import io
import re

import pytest
from paths import ROOT

from tallsbi.study.report import rulegraph

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
EDGES = {("collect", "tables"), ("collect", "figures"), ("tables", "report"), ("figures", "report")}


def test_rules_fold_to_stages_and_targets_are_none():
    assert rulegraph.fold(rulegraph.parse(SAMPLE)) == EDGES


@pytest.mark.parametrize(
    ("rule", "stage"),
    [
        ("simulate", "simulate"),
        ("sample_toy", "sample"),
        ("draw_sbibm_sw_vs_nobs", "figures"),
        ("make_metric_summary", "tables"),
        ("make_claims", "claims"),
        ("check_theory", "claims"),
        ("collect_costs", "report"),
    ],
)
def test_a_rule_belongs_to_the_stage_its_name_begins_with(rule, stage):
    assert rulegraph.stage_of(rule) == stage


def test_a_rule_of_no_stage_is_refused_by_name():
    with pytest.raises(ValueError, match="rule polish_network: no stage begins with 'polish'"):
        rulegraph.stage_of("polish_network")


def test_mermaid_has_every_stage_and_arrow():
    lines = [
        line.strip() for line in rulegraph.to_mermaid(rulegraph.fold(rulegraph.parse(SAMPLE))).splitlines()
    ]
    assert lines[:5] == ["flowchart LR", "collect", "tables", "figures", "report"]
    assert {tuple(line.split(" --> ")) for line in lines if "-->" in line} == EDGES


def test_only_the_picture_is_replaced(tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
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


def test_picture_shows_the_stage_of_every_rule():
    picture = DOCUMENT.split(rulegraph.START)[1].split(rulegraph.END)[0]
    files = [path.read_text(encoding="utf-8") for path in (ROOT / "workflow/rules").glob("*.smk")]
    rules = re.findall(r"^(?:use rule \w+ as|rule) (\w+)(?::| with:)", "\n".join(files), re.MULTILINE)
    shown = set(re.findall(r"\w+", picture))
    stages = {rulegraph.stage_of(rule) for rule in rules}
    assert stages <= shown, "docs/architecture.md is older than the rules: run `make dag`"

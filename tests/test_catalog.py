"""What the Snakemake workflow catalog asks of a workflow that it lists, and what a citation needs."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
import yaml
from config_files import ROOT, SCHEMA, load

from study import clone
from tallsbi import __version__
from tallsbi.runner import config as cfg
from tallsbi.runner.config_schema import schema_leaves
from tallsbi.study.config_rules import problems


def test_the_catalog_finds_its_files():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["report"] is True
    assert set(usage["software-stack-deployment"]) == {"conda", "apptainer", "apptainer+conda"}
    assert {"desc", "flags"} == set(usage["mandatory-flags"])
    for name in ("Snakefile", "README.md", "LICENSE", "config/README.md", ".test/config.yaml"):
        assert (ROOT / name).is_file(), name


def test_every_setting_has_a_description_for_the_table():
    assert [key for key, node in schema_leaves(SCHEMA).items() if not node.get("description")] == []


def test_links_of_the_configuration_page_lead_somewhere():
    text = (ROOT / "config/README.md").read_text()
    links = re.findall(r"\]\((.*?)\)", text)
    assert links
    assert all((ROOT / "config" / link).exists() for link in links)
    rows = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert rows
    assert set(rows) <= SCHEMA["properties"].keys()


def miniature() -> dict:
    given = cfg.plain(yaml.safe_load((ROOT / ".test/config.yaml").read_text()))
    return cfg.resolve(cfg.merge(load("config.yaml"), given), ROOT, problems)


def test_the_miniature_is_a_valid_configuration():
    assert miniature()["run"] == "miniature"


@pytest.mark.dag
def test_the_miniature_has_every_stage_and_few_jobs(tmp_path):
    jobs = clone(tmp_path / "study").planned("--configfile", str(ROOT / ".test/config.yaml"))
    for stage in (
        "simulate",
        "observe",
        "reference",
        "train",
        "select",
        "sample",
        "measure",
        "collect",
        "make_report",
    ):
        assert stage in jobs
    assert sum(map(len, jobs.values())) < 400


def test_the_citation_is_complete_and_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license", "preferred-citation"} <= citation.keys()
    assert citation["version"] == __version__
    paper = citation["preferred-citation"]
    assert {"type", "title", "authors", "year"} <= paper.keys()
    assert all({"family-names", "given-names"} <= author.keys() for author in paper["authors"])


def test_the_changelog_has_a_place_for_the_next_release():
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_configuration_page_names_every_scale():
    (row,) = re.findall(r"^\| `scale` \| (.*?) \|", (ROOT / "config/README.md").read_text(), re.M)
    assert set(re.findall(r"`(\w+)`", row)) == {
        path.stem for path in (ROOT / "workflow/scales").glob("*.yaml")
    }


@pytest.mark.parametrize(
    ("tag", "notes"), [("v1.2.0", "\n### Added\n\n- Two.\n\n"), ("v1.3.0", None), ("v9.0.0", None)]
)
def test_a_release_has_the_notes_of_its_version(tmp_path, tag, notes):
    """The commands of the GitHub workflow, on a changelog with three versions and the citation of one."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    (commands,) = (
        step["run"] for step in workflow["jobs"]["release"]["steps"] if step.get("name") == "Notes"
    )
    (tmp_path / "CHANGELOG.md").write_text(
        "# C\n\n## [Unreleased]\n\n- Three.\n\n## [1.2.0] - 2026-01-01\n\n### Added\n\n- Two.\n\n## [1.3.0]\n\n- One.\n"
    )
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\n")
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    done = subprocess.run(["bash", "-ec", commands], cwd=tmp_path, env=environment, check=False)
    assert (done.returncode == 0) == (notes is not None)
    if notes is not None:
        assert (tmp_path / "notes.md").read_text() == notes

"""Origins beside results, and what is made of them: records of Snakemake, times, signs of damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_python import environment

from tallsbi.runner import guard, origins, recall

FOLDER = Path("results/trial")
A, B, C = (f"results/trial/{name}.csv" for name in "abc")
DAY = 86400


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """a is made from nothing, b from a, c from b and a resource."""
    monkeypatch.chdir(tmp_path)
    Path("resource.csv").write_text("numbers")
    FOLDER.mkdir(parents=True)
    for output, inputs in ((A, []), (B, [A]), (C, [B, "resource.csv"])):
        Path(output).write_text(output)
        made = origins.describe(
            "rule", params=[f"'{FOLDER}/x'"], inputs=inputs, outputs=[output], log=["a.log"]
        )
        origins.write_origin(made, FOLDER)
    return tmp_path


def params(path: str, folder: Path = FOLDER) -> list[str] | None:
    record = recall._persistence()._read_record(path)
    return record and record.params


def test_records_of_snakemake_are_written_once(run):
    assert recall.recall(FOLDER) == [
        "results/trial: the results of 3 jobs are recognised by their checksums."
    ]
    assert params(B) == ["'results/trial/x'"]
    record = recall._persistence()._read_record(C)
    assert (record.input, record.log, record.rule) == (sorted([B, "resource.csv"]), ["a.log"], "rule")
    assert record.input_checksums["resource.csv"] == f"sha256:{origins.checksum('resource.csv')}"
    assert recall.recall(FOLDER) == []


def test_outputs_that_look_older_than_what_they_come_from_get_a_new_time(run):
    now = os.stat(A).st_mtime
    for days, path in ((5, "resource.csv"), (3, A), (2, B), (1, C)):
        os.utime(path, (now + days * DAY,) * 2)
    recall.recall(FOLDER)
    times = [os.stat(path).st_mtime_ns for path in (A, B, C)]
    assert times == sorted(times)
    assert times[2] >= os.stat("resource.csv").st_mtime_ns


def test_a_missing_file_in_between_hides_no_order(run):
    """As Snakemake looks through it: the maker of b would seem to have a newer input than c is old."""
    os.unlink(B)
    for day, path in ((2, A), (1, C), (0, "resource.csv")):
        os.utime(path, (day * DAY,) * 2)
    recall.recall(FOLDER)
    assert os.stat(C).st_mtime_ns >= os.stat(A).st_mtime_ns


def test_a_changed_resource_and_a_changed_output_are_signs(run):
    recall.recall(FOLDER)
    Path("resource.csv").write_text("others")
    Path(A).write_text("edited")
    notes = recall.recall(FOLDER)
    assert "1 files have other content than their jobs wrote" in notes[0]
    assert A in notes[0]
    assert "2 files have other inputs now" in notes[1]
    assert params(A)[-1] == f"{A} has other content"
    assert params(C)[-1] == "resource.csv has other content"
    Path("resource.csv").write_text("numbers")
    Path(A).write_text(A)
    recall.recall(FOLDER)
    assert params(C) == params(A) == ["'results/trial/x'"]


def test_an_edit_with_the_old_time_and_size_is_seen(run):
    recall.recall(FOLDER)
    before = os.stat(A)
    Path(A).write_text(A.upper())
    os.utime(A, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "other content" in recall.recall(FOLDER)[0]


def test_a_file_without_origin_is_unknown_unless_snakemake_knows_it(run):
    recall.recall(FOLDER)
    Path("results/trial/d.csv").write_text("from somewhere")
    (FOLDER / "records/b.csv.origin.json").unlink()
    assert "1 files have no record" in recall.recall(FOLDER)[0]
    assert params("results/trial/d.csv") == ["no origin"]
    assert params(B) == ["'results/trial/x'"]


def test_the_description_beside_a_network_needs_no_origin(run):
    network = "results/trial/network.safetensors"
    for path in (network, "results/trial/network.json", "results/trial/alone.json"):
        Path(path).write_text("{}")
    made = origins.describe("rule", params=[], inputs=[], outputs=[network], log=[])
    origins.write_origin(made, FOLDER)
    os.unlink(network)  # as after a copy without networks
    assert recall.recall(FOLDER)[1:] == [
        "results/trial: 1 files have no record of where they come from and are made again when they are asked for: "
        "results/trial/alone.json"
    ]


def test_results_without_any_origin_are_left_to_snakemake(run):
    for path in FOLDER.rglob("*.origin.json"):
        path.unlink()
    assert recall.recall(FOLDER) == []
    assert not Path(".snakemake").exists()


def test_while_a_run_works_nothing_is_touched(run):
    guard.register(FOLDER.name)
    try:
        assert recall.recall(FOLDER) == []
    finally:
        guard.release()


def test_a_renamed_run_is_the_same(run):
    FOLDER.rename("results/renamed")
    assert "3 jobs are recognised" in recall.recall(Path("results/renamed"))[0]
    assert params("results/renamed/c.csv") == ["'results/renamed/x'"]


def test_taking_files_as_they_are_writes_their_origin_anew(run):
    recall.recall(FOLDER)
    Path(A).write_text("edited")
    recall.renew(FOLDER)
    assert not [note for note in recall.recall(FOLDER) if "other content" in note or "other inputs" in note]
    content = json.loads((FOLDER / "records/a.csv.origin.json").read_text())
    assert content["checksums"]["{run}/a.csv"] == origins.checksum(A)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"rule": 1}', '{"unknown": 1}'])
def test_a_damaged_origin_is_as_good_as_none(run, content):
    (FOLDER / "records/b.csv.origin.json").write_text(content)
    assert [origin.outputs for origin in origins.read_origins(FOLDER)] == [(A,), (C,)]


SCRIPT = """
from types import SimpleNamespace
from tallsbi.runner.job import start
params = type("Params", (list,), {})(["abc", {"seed": 1}, {"numpy": "1"}])
params.code, params.config, params.versions = params
outputs = ["results/t/a.csv", "results/t/b.csv"]
job = start(SimpleNamespace(rule="r", log=[], threads=1, input=["in"], output=outputs, params=params))
for name in OUTPUTS: job.write("text", name)
END
"""


@pytest.mark.parametrize(
    ("outputs", "end", "kept"), [("(0, 1)", "", True), ("(0,)", "", False), ("(0,)", "1 / 0", False)]
)
def test_a_job_keeps_its_origin_when_all_its_outputs_are_there(tmp_path, outputs, end, kept):
    (tmp_path / "in").write_text("input")
    code = SCRIPT.replace("OUTPUTS", outputs).replace("END", end)
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=False, capture_output=True
    )
    known = origins.read_origins(Path("results/t"), tmp_path)
    assert bool(known) == kept
    if kept:
        assert known[0].params == ("'abc'", "{'numpy': '1'}", "{'seed': 1}")
        assert known[0].checksums["in"] == origins.checksum(tmp_path / "in")
        assert "results/t/a.csv.meta.json" in known[0].checksums


def made_again(content: str, setting: str = "x") -> None:
    """a, as another machine's job would leave it."""
    Path(A).write_text(content)
    made = origins.describe("rule", params=[f"'{FOLDER}/{setting}'"], inputs=[], outputs=[A], log=["a.log"])
    origins.write_origin(made, FOLDER)


def test_bytes_of_another_processor_outdate_nothing(run):
    """What lies below a was copied without it; a is made again, here and once more elsewhere, by the same job."""
    recall.recall(FOLDER)
    for content in ("rounded", "rounded otherwise"):
        made_again(content)
        assert recall.recall(FOLDER) == [
            "results/trial: the results of 2 jobs are recognised by their checksums."
        ]
        assert params(B) == ["'results/trial/x'"]
    Path(A).write_text("edited")
    notes = " ".join(recall.recall(FOLDER))
    assert "1 files have other content" in notes
    assert "1 files have other inputs" in notes


def test_bytes_of_another_setting_outdate_what_was_made_of_them(run):
    recall.recall(FOLDER)
    made_again("other numbers", "y")
    assert "1 files have other inputs now" in recall.recall(FOLDER)[-1]
    made_again("other numbers again", "y")
    assert params(B)[-1] == f"{A} has other content"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_benchmark_that_looks_old_gets_a_new_time(run, is_there):
    """Snakemake takes it for an output: older than an input, it would have the job run again.

    Also where the output itself is not there, such as samples, and nobody asks for it.
    """
    if not is_there:
        os.unlink(B)
    recall.recall(FOLDER)
    benchmark = FOLDER / "records" / "b.tsv"
    benchmark.write_text("s\n1\n")
    os.utime(benchmark, (DAY, DAY))
    recall.recall(FOLDER)
    assert os.stat(benchmark).st_mtime_ns >= os.stat(A).st_mtime_ns

"""What jobs asked for beside what they used."""

from pathlib import Path

import pytest

from tallsbi.runner import efficiency
from tallsbi.runner.efficiency import describe, efficiency_table
from tallsbi.runner.options import Run
from tallsbi.runner.plan import PlannedJob
from tallsbi.storage.files import DataError

JOBS = [
    PlannedJob("train", "train/a", 1, 2, "records/a.tsv", mem_mb=1000, minutes=10),
    PlannedJob("train", "train/b", 1, 2, "records/b.tsv", mem_mb=400, minutes=20),
    PlannedJob("measure", "measure", 1, 1, "records/c.tsv", mem_mb=800, minutes=5),
    PlannedJob("collect", "collect", 1, 1, "records/d.tsv"),
    PlannedJob("collect", "collect", 1, 1, None),
    PlannedJob("sample", "sample", 1, 1, "records/not-run.tsv", mem_mb=900, minutes=5),
]
HEAD = "s\tmax_rss\tcpu_time\n"


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "records").mkdir()
    lines = {"a": "15\t250\t15", "b": "12\t300\t24", "c": "6\t-\t6", "d": "3\t90\t3"}
    for name, line in lines.items():
        (tmp_path / f"records/{name}.tsv").write_text(HEAD + line + "\n")
    return tmp_path


def test_each_rule_has_its_largest_request_use_and_share(root):
    table = efficiency_table(JOBS, root).set_index("rule")
    assert list(table.index) == ["train", "measure", "collect"]
    assert list(table.jobs) == [2, 1, 1]
    train = table.loc["train"]
    # The share is that of a job, 300 of 400, and not the largest use over the largest request.
    assert (train.mib_asked, train.mib, train.mib_share) == (1000, 300, 0.75)
    assert (train.minutes_asked, train.minutes) == (20, 0.25)
    assert train.minutes_share == pytest.approx(15 / 600)
    assert train.cpu == pytest.approx((15 + 24) / (2 * (15 + 12)))


def test_what_was_not_asked_for_or_not_seen_is_left_open(root):
    table = efficiency_table(JOBS, root).set_index("rule")
    assert table.loc["measure"].isna()[["mib", "mib_share"]].all()
    assert table.loc["collect"].isna()[["mib_asked", "minutes_asked", "mib_share", "minutes_share"]].all()
    assert table.loc["collect"].mib == 90


def test_the_text_names_the_rules_nearest_to_their_limits(root, monkeypatch):
    monkeypatch.setattr(efficiency, "planned_jobs", lambda *_: JOBS)
    text = describe(Run(root=root, name="smoke", settings=()))
    assert text.endswith(
        "smoke: 4 of 6 jobs have a record; nearest to its limit: memory train (75%), time train (2%)"
    )
    assert "nan" not in text


def test_a_run_without_records_is_named(root, monkeypatch):
    monkeypatch.setattr(efficiency, "planned_jobs", lambda *_: JOBS[-1:])
    with pytest.raises(DataError, match="smoke has no records of jobs: run `make results`"):
        describe(Run(root=root, name="smoke", settings=()))

"""The ledger of a run that is not finished, on copies of the published data."""

import shutil

import pandas as pd
import pytest
from paths import ROOT

from tallsbi.study.report import published, so_far

CHOICE = ["--scale", "laptop", "--config", "run=published"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository with the tidy data of the published run."""
    for name in ("config.yaml", "workflow", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(
        ROOT / published.FOLDER,
        tmp_path / published.FOLDER,
        ignore=shutil.ignore_patterns("records", "figures", "report"),
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_there_is_judged_and_the_rest_waits(root, capsys):
    assert so_far.main(CHOICE, root) == 0
    assert "of the others 0 wait for data" in capsys.readouterr().out
    whole = pd.read_csv(root / published.FOLDER / "claims/so_far.csv")
    (root / published.FOLDER / "toy/timing.csv").unlink()
    assert so_far.main(CHOICE, root) == 0
    partial = pd.read_csv(root / published.FOLDER / "claims/so_far.csv")
    on_times = whole.data.str.contains("toy_timing")
    assert partial.reading[on_times].str.contains("toy/timing.csv not made yet").any()
    assert (whole.verdict != partial.verdict).any()
    pd.testing.assert_frame_equal(partial[~on_times], whole[~on_times])


def test_a_run_without_data_says_what_makes_it(root, capsys):
    assert so_far.main(["--scale", "smoke"], root) == 1
    assert "results/smoke has none of the data" in capsys.readouterr().err


def test_a_bad_setting_is_named(root, capsys):
    assert so_far.main([*CHOICE[:2], "--config", "sbibm.sets=0"], root) == 1
    assert "sbibm.sets" in capsys.readouterr().err

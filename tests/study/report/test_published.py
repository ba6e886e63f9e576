"""What is published of a run: the data behind its tables and figures, readable as data frames."""

import shutil

import pandas as pd
import pytest
from paths import ROOT
from run_data import make_run

from tallsbi.storage.files import DataError, write_text
from tallsbi.study import results
from tallsbi.study.report import gallery, published, record


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A repository with one finished run, which has more files than are published."""
    root = tmp_path_factory.mktemp("repository")
    run = make_run(root)
    for name in ("config.yaml", "workflow"):
        (root / name).symlink_to(ROOT / name)
    folder = run.sources.run
    record.write(run.record, run.gather().facts, folder, folder / record.RECORD_PATH)
    write_text("{}", folder / "sbibm/distances.csv.meta.json")
    write_text("{}", folder / "records/sbibm/distances.csv.origin.json")
    write_text("{}", folder / "records/sbibm/x/samples.nc.origin.json")
    for name in ("sbibm/x/samples.nc", "sbibm/x/distances.csv", "logs/a.log"):
        write_text("large", folder / name)
    return root


@pytest.fixture(scope="module")
def copies(root):
    """Published by `make gallery`, over something older."""
    write_text("old", root / published.FOLDER / "toy/old.csv")
    assert gallery.main(["--scale", "smoke"], root) == 0
    folder = root / published.FOLDER
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_data_tables_and_records_are_published_and_nothing_else(copies):
    assert {
        "sbibm/distances.csv",
        "sbibm/distances.csv.meta.json",
        "records/sbibm/distances.csv.origin.json",
        "tables/claims.csv",
        "tables/claims.md",
        "records/toy/a.tsv",
        "report/run.json",
    } <= copies
    assert not [name for name in copies if "/x/" in name and not name.endswith(".tsv")]
    assert not [name for name in copies if name.startswith(("figures/", "logs/", "toy/old"))]


def test_published_data_are_those_of_the_run(root, copies):
    for name in copies:
        assert (root / published.FOLDER / name).read_bytes() == (root / "results/smoke" / name).read_bytes()


def test_a_gallery_of_the_published_run_leaves_it_alone(root, copies):
    folder = root / published.FOLDER
    shutil.copytree(root / "results/smoke/figures", folder / "figures")  # as `make redraw` makes them
    before = {path: path.stat().st_ino for path in folder.rglob("*.csv")}
    assert gallery.main(["--scale", "smoke", "--config", "run=published"], root) == 0
    assert {path: path.stat().st_ino for path in folder.rglob("*.csv")} == before


def test_tidy_tables_are_data_frames_by_name(root, copies):
    tables = published.read_results("published", root)
    assert set(tables) >= {"sbibm/distances", "tables/claims", "tables/metric_summary"}
    pd.testing.assert_frame_equal(
        tables["sbibm/distances"], pd.read_csv(root / "results/smoke/sbibm/distances.csv")
    )
    # The parts that were collected are no tables of the run.
    assert "sbibm/x/distances" not in published.read_results("smoke", root)


def test_a_run_that_is_not_there_is_named_with_those_that_are(root, copies):
    with pytest.raises(DataError, match=r"results/paper: the runs of this checkout are published, smoke"):
        published.read_results("paper", root)
    with pytest.raises(DataError, match=r"no results in .*no-such-run"):
        results("no-such-run")

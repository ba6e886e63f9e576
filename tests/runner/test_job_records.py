"""Snakemake's benchmark records."""

from dataclasses import astuple

import pytest

from tallsbi.runner.job_records import JobRecord, read_job_record
from tallsbi.storage.files import DataError

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # Looked at until the end.
        ("10.0\t0:00:10\t300.5\t0\t0\t0\t0\t0\t90.00\t9.0", JobRecord(10, 9, 300.5)),
        # The last look was after 15.5 s, and after 45.5 s.
        ("31.0\t0:00:31\t300.5\t0\t0\t0\t0\t0\t45.00\t14.0", JobRecord(31, 28, 300.5)),
        ("54.6\t0:00:54\t300.5\t0\t0\t0\t0\t0\t80.00\t45.5", JobRecord(54.6, 54.6, 300.5)),
        # Over before it was looked at.
        ("0.4\t0:00:00\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA", JobRecord(0.4, 0.4, 0)),
    ],
)
def test_record_is_read(row, expected, tmp_path):
    (tmp_path / "a.tsv").write_text(HEADER + row + "\n")
    read = read_job_record(tmp_path / "a.tsv")
    assert astuple(read) == pytest.approx(astuple(expected))


@pytest.mark.parametrize("text", ["", HEADER, HEADER + "40.0\t0:00:40\n", "x\ty\n1\t2\n"])
def test_damaged_record_is_named(text, tmp_path):
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(DataError, match=r"a\.tsv is damaged"):
        read_job_record(tmp_path / "a.tsv")

"""Snakemake's benchmark records."""

import pytest

from tallsbi.study.benchmarks import Benchmark, read_benchmark
from tallsbi.study.files import DataError

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # 20 s at Snakemake's last look, and 90 % load until the end.
        ("40.0\t0:00:40\t300.5\t0\t0\t0\t0\t0\t90.00\t20.0", Benchmark(40, 36, 300.5)),
        ("40.0\t0:00:40\t300.5\t0\t0\t0\t0\t0\t90.00\t38.0", Benchmark(40, 38, 300.5)),
        # Over before it was looked at.
        ("0.4\t0:00:00\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA", Benchmark(0.4, 0.4, 0)),
    ],
)
def test_record_is_read(row, expected, tmp_path):
    (tmp_path / "a.tsv").write_text(HEADER + row + "\n")
    assert read_benchmark(tmp_path / "a.tsv") == expected


@pytest.mark.parametrize("text", ["", HEADER, HEADER + "40.0\t0:00:40\n", "x\ty\n1\t2\n"])
def test_damaged_record_is_named(text, tmp_path):
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(DataError, match=r"a\.tsv is damaged"):
        read_benchmark(tmp_path / "a.tsv")

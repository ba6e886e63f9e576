"""The benchmarks' bookkeeping: ratios, bars, the table, and that every benchmark is found."""

import itertools

import pytest

from benchmarks.__main__ import main, names
from benchmarks.report import Row, cpu_times, table


def test_times_are_taken_in_turns_and_ratios_round_by_round():
    ticks = itertools.accumulate([0, 9, 0, 9, 0, 2, 0, 1, 0, 30, 0, 10, 0, 6, 0, 6])
    calls = []
    times = cpu_times(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3, clock=lambda: next(ticks)
    )
    assert calls == ["a", "b"] * 4
    # The warm-up (9, 9) is gone; the rounds are (2, 1), (30, 10), (6, 6) with ratios 2, 3 and 1.
    assert times.seconds("a") == 6
    assert times.ratio("a", "b") == 2


@pytest.mark.parametrize(
    ("ratio", "bar", "at_most", "ok"),
    [(1.3, 1.35, True, True), (1.4, 1.35, True, False), (3.1, 3.0, False, True), (2.9, 3.0, False, False)],
)
def test_bars(ratio, bar, at_most, ok):
    row = Row("x", 1.0, 2.0, "s", ratio, bar, at_most)
    assert row.ok is ok
    assert row.cells()[-1] == ("yes" if ok else "NO")
    assert row.cells()[-2] == f"{'<=' if at_most else '>='} {bar:g}"


def test_table_is_aligned_and_a_row_without_a_bar_passes():
    text = table([Row("short", 1.0, 2.0, "s", 0.5), Row("a longer name", 1.0, 2.0, "s", 0.5, 1.0)])
    lines = text.splitlines()
    assert len({line.index("0.50") for line in lines[1:]}) == 1
    assert lines[0].startswith("name ")
    assert lines[1].endswith("-")


def test_benchmarks_are_found_and_unknown_ones_named(capsys):
    assert {"c2st", "tall_score", "training_epoch", "sampling_memory"} <= set(names())
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no benchmark nothing" in capsys.readouterr().err


def test_strict_tells_a_missed_bar(monkeypatch, capsys):
    from benchmarks import tall_score

    monkeypatch.setattr(tall_score, "run", lambda rounds: [Row("x", 1.0, 1.0, "s", 2.0, 1.0)])
    assert main(["tall_score"]) == 0
    assert main(["tall_score", "--strict"]) == 1
    assert "NO" in capsys.readouterr().out

"""How the benchmarks of growth and of the paper's sizes add up; what they measure is in `make bench`."""

import pytest

from benchmarks import growth, paper_limit
from tallsbi.runner.costs import CostModel, Rate
from tallsbi.runner.plan import PlannedJob


def test_the_exponent_of_a_power_is_found():
    assert growth.exponent([1, 2, 4], [3.0, 3 * 2**0.7, 3 * 4**0.7]) == pytest.approx(0.7)


def test_every_size_grows_alone_and_its_row_holds_the_bar(monkeypatch):
    tried = []
    monkeypatch.setattr(growth, "_job", lambda method, size: tried.append((method, size)) or (lambda: None))
    monkeypatch.setattr(growth, "peak", lambda method, size: 300.0 + size.samples / 1000)
    monkeypatch.setattr(growth, "cpu_times", lambda jobs, rounds: Doubling(jobs))
    rows = growth.run(1)
    assert len(rows) == 3 * 5 + 2 * 2
    assert rows[0].name == "GAUSS: exponent of time in n"
    assert [row.ratio for row in rows[:15]] == pytest.approx([1] * 15)
    assert {row.bar for row in rows} == {growth.TIME_BAR, growth.MEMORY_BAR}
    assert len({size for _, size in tried}) > 3 * 5


class Doubling:
    """Times that double from one size to the next."""

    def __init__(self, jobs):
        self.order = list(jobs)

    def seconds(self, name):
        return 2.0 ** self.order.index(name)


def test_the_paper_s_hours_are_rows_times_what_a_row_costs():
    rates = {
        "sample/GAUSS/sir": Rate(3, 2e-3, 300, 1),
        "sample/JAC/sir": Rate(3, 1, 300, 1),
        "measure": Rate(1, 2, 1, 1),
    }
    jobs = [
        PlannedJob("sample", "sample/GAUSS/sir", 500, 1, None),
        PlannedJob("sample", "sample/JAC/slcp", 500, 1, None),
        PlannedJob("train", "train/sbibm", 100, 1, None),
        PlannedJob("measure", "measure", 10, 1, None),
    ]
    costs = {"GAUSS": 4e-6, "JAC": 6e-6, "training": 5e-6}
    seconds, limit = paper_limit._projection(jobs, CostModel(rates), 2e-6, costs)
    share = paper_limit._share(uniform=True)
    assert 0.2 < share < 0.8
    assert dict(limit) == pytest.approx({"GAUSS": 1.0, "JAC": 1 + 5 * share, "training": 100_000 * 3 * 2e-6})
    # GAUSS costs twice per row what the table says, and so does all that is not measured.
    rest = 2 * (3 + 3 + 3 + 1 + 20)
    assert dict(seconds) == pytest.approx(
        {"GAUSS": 2.0, "JAC": 3 * (1 + 5 * share), "training": 100_000 * 3 * 5e-6, "rest": rest}
    )

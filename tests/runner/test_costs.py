"""The cost model: it finds the rates behind made-up records, and its limits grow."""

import numpy as np
import pytest

from tallsbi.runner.costs import (
    DEFAULT_MEMORY,
    START_SECONDS,
    CostModel,
    JobCost,
    Rate,
    fit,
    read_model,
    rule_of,
    write_model,
)
from tallsbi.storage.files import DataError


def records(noise: float = 0.0) -> list[JobCost]:
    """Two methods of a rule with an overhead of 4 s, at a small and a large scale."""
    rng = np.random.default_rng(1)
    rates = {"sample/GAUSS": 0.002, "sample/JAC": 0.01}
    return [
        JobCost(key, work, (4 + rate * work) * float(np.exp(noise * rng.standard_normal())), 300 + i)
        for key, rate in rates.items()
        for i, work in enumerate((500, 1000, 200_000, 400_000))
    ]


def test_fit_finds_overhead_and_rates():
    model = fit(records())
    assert model.rates["sample/GAUSS"].per_unit == pytest.approx(0.002, rel=0.05)
    assert model.rates["sample/JAC"].per_unit == pytest.approx(0.01, rel=0.05)
    assert model.rates["sample/JAC"].overhead == pytest.approx(4, rel=0.2)
    assert model.rates["sample/JAC"].memory == 303
    assert model.rates["sample/JAC"].records == 4


def test_noisy_records_predict_far_larger_jobs_within_a_factor_two():
    model = fit(records(noise=0.2))
    for key, rate in (("sample/GAUSS", 0.002), ("sample/JAC", 0.01)):
        assert 0.5 < model.seconds(key, 1e7) / (rate * 1e7) < 2


def test_jobs_of_one_size_are_taken_to_start_like_any_other():
    model = fit([JobCost("train", 100, 23.0, 200)])
    assert model.seconds("train", 0) == pytest.approx(START_SECONDS)
    assert model.seconds("train", 200) == pytest.approx(43)


def test_unknown_method_costs_as_much_as_the_dearest_of_its_rule():
    model = fit(records())
    assert model.seconds("sample/MINE", 1000) == pytest.approx(model.seconds("sample/JAC", 1000))
    assert model.seconds("unheard_of", 1000) == START_SECONDS
    assert model.rate("unheard_of").memory == DEFAULT_MEMORY
    assert rule_of("sample/JAC/sir") == "sample"


def test_limits_leave_room_and_grow_with_every_attempt():
    model = CostModel({"train": Rate(overhead=3, per_unit=1.0, memory=500)})
    assert model.runtime("train", 7200) * 60 > 2 * 7200
    assert model.runtime("train", 7200, attempt=2) == 2 * model.runtime("train", 7200)
    assert [model.mem_mb("train", attempt) for attempt in (1, 2, 3)] == [1100, 2200, 4400]


def test_table_holds_the_model(tmp_path):
    model = fit(records())
    write_model(model, tmp_path / "costs.csv")
    again = read_model(tmp_path / "costs.csv")
    for key, rate in model.rates.items():
        assert again.seconds(key, 12345) == pytest.approx(model.seconds(key, 12345), rel=0.01)
        assert again.rates[key].records == rate.records


def test_missing_table_is_an_empty_model_and_a_damaged_one_is_named(tmp_path):
    assert read_model(tmp_path / "costs.csv").rates == {}
    (tmp_path / "costs.csv").write_text("key,overhead_s\nsample,three\n")
    with pytest.raises(DataError, match=r"costs\.csv is damaged .*make calibrate"):
        read_model(tmp_path / "costs.csv")

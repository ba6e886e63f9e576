"""The table of costs shows what was measured beside what is projected."""

import pandas as pd

from tallsbi.study.settings.artifacts import RunName
from tallsbi.study.tables.cost import make


def costs(run: str, **seconds: float) -> pd.DataFrame:
    """A row per stage, of one job each, as `tallsbi.runner.plan.cost_table` gives them."""
    hours = pd.Series(seconds) / 3600
    rows = {
        "jobs": 1,
        "core_hours": hours,
        "share": hours / hours.sum(),
        "longest_h": hours,
        "peak_mib": 300.0,
    }
    return pd.DataFrame(rows).rename_axis("stage").reset_index().assign(run=run)


def test_cost_table_shows_measured_beside_projected():
    measured = costs("measured", train_network=36, time_toy=0.4)
    projected = costs("paper", train_network=3706, time_toy=3, collect=3)
    table = make({"costs": pd.concat([measured, projected], ignore_index=True)}, RunName("smoke"))
    assert len(table.tidy) == 5
    shown = table.shown.set_index("stage")
    assert shown.loc["train network", "core-hours (paper, projected)"] == "1.03"
    assert shown.loc["train network", "core-hours (smoke)"] == "0.010"
    assert shown.loc["collect", "jobs (smoke)"] == "–"
    assert "The scale paper will take about 3 jobs and 1.0 core-hours" in table.note
    alone = make({"costs": measured}, RunName("smoke"))
    assert [name for name in alone.shown if "projected" in name] == []
    assert "will take" not in alone.note

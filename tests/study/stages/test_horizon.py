"""Calibration against n: the stage, its figure and its table, with draws whose calibration is known."""

import numpy as np
import pytest
from cost_study import TASK, FromPrior, network
from settings import methods

from tallsbi import algorithms
from tallsbi.study.columns.sbibm import CALIBRATION
from tallsbi.study.figures import calibration_vs_n
from tallsbi.study.settings.artifacts import TaskRows
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.stages.horizon import calibration_table
from tallsbi.study.tables import horizon
from tallsbi.study.tasks import load

ROWS = TaskRows(tasks=(TASK,), labels={TASK: "Gaussian linear"})


@pytest.fixture
def table(monkeypatch):
    """Of draws that are too narrow from n = 3 on."""
    monkeypatch.setitem(algorithms._REGISTERED, "FROM_PRIOR", FromPrior)
    settings = HorizonSettings(
        seed=1,
        device="cpu",
        dtype="float32",
        problem=ProblemSettings(TASK),
        n_train=50,
        methods=methods(FROM_PRIOR={"steps": 4, "narrow_from": 3}),
        bounds_factor=1.0,
        datasets=60,
        n_obs=(1, 3, 10),
        samples=20,
    )
    return calibration_table(settings, network())


def test_a_row_per_n_and_parameter_and_the_horizon_between(table):
    assert CALIBRATION.check(table).equals(table)
    assert len(table) == 3 * load(TASK).prior.dim
    by_n = table.groupby("n")
    assert by_n.rms_z.mean()[1] == pytest.approx(1, abs=0.15)
    assert by_n.rms_z.mean()[3] > 1.7
    assert by_n.departs.all().tolist() == [False, True, True]
    assert 1 <= table.horizon.iloc[0] < 3
    assert table.failed_n.unique().tolist() == [3]
    assert "too narrow in sigma" in table.failure.iloc[0]


def test_figure_and_table_show_it(table):
    figure = calibration_vs_n.draw({"calibration": table}, ROWS)
    for ax, column in zip(figure.axes, calibration_vs_n.COLUMNS, strict=True):
        (line,) = [line for line in ax.lines if not line.get_label().startswith("_")]
        np.testing.assert_allclose(line.get_ydata(), table.groupby("n")[column].mean())
    made = horizon.make({"calibration": table}, ROWS)
    assert made.tidy.horizon.tolist() == [table.horizon.iloc[0]]
    assert made.shown["what fails"].iloc[0].startswith("n = 3: ")
    calm = horizon.make({"calibration": table.assign(failed_n=0, horizon=10)}, ROWS)
    assert calm.shown.horizon.tolist() == ["10 or more"]

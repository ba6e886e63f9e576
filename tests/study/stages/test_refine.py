"""Refinements in the study: the stage on a task in closed form, its figure and its table."""

import warnings

import numpy as np
import pytest
import xarray as xr
from cost_study import TASK, FromPrior, network
from settings import methods

from tallsbi import algorithms
from tallsbi.study.columns.sbibm import REFINED
from tallsbi.study.figures import refined as figure
from tallsbi.study.settings.artifacts import TaskRows
from tallsbi.study.settings.base import SettingsError
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.stages.refine import refined_table
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tables import refined as numbers
from tallsbi.study.tasks import load

ROWS = TaskRows(tasks=(TASK,), labels={TASK: "Gaussian linear"})
N_OBS = (4, 20)


def settings(**changes):
    plan = {
        "seed": 1, "device": "cpu", "dtype": "float32", "problem": ProblemSettings(TASK), "n_train": 50,
        "methods": methods(FROM_PRIOR={"steps": 4}), "bounds_factor": 1.0, "sets": 1, "n_obs": N_OBS,
        "samples": 300, "simulations": 8000, "projections": 20, "self_distances": 2,
    }  # fmt: skip
    return RefineSettings(**plan | changes)


@pytest.fixture(scope="module")
def data():
    """Observations of one set, and draws of the closed form."""
    task = load(TASK)
    observed, references = observations(task, 1, max(N_OBS), 5), {}
    for n in N_OBS:
        mean, cov = task.closed_form(observed["x"].values[0, :n])
        draws = np.random.default_rng(n).multivariate_normal(mean, cov, 600)[None]
        known = {"theta": (("set", "sample", "parameter"), draws), "passed": ("set", [True])}
        references[n] = xr.Dataset(known)
    return observed, references


@pytest.fixture(scope="module")
def table(data):
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setitem(algorithms._REGISTERED, "FROM_PRIOR", FromPrior)
        return refined_table(settings(), network(), *data)


def test_two_rows_per_posterior_in_the_columns_of_the_contract(table):
    assert REFINED.check(table).equals(table)
    assert table.state.tolist() == ["before", "after"] * len(N_OBS)
    assert table.n.tolist() == [4, 4, 20, 20]
    assert (table.simulations <= 8000).all()
    assert table.outcome.isin(numbers.OUTCOMES).all()


def test_draws_of_the_prior_become_those_of_the_closed_form(table):
    before, after = (table[table.state == state] for state in ("before", "after"))
    assert (before.spread > 1.5).all()
    assert (after.outcome != "kept").all()
    # 8,000 simulations for ten parameters leave errors of a few tenths of a standard deviation.
    assert (after.offset < 0.6).all()
    assert after.spread.between(0.8, 1.4).all()
    assert (after.sw.to_numpy() < before.sw.to_numpy() / 2).all()


def test_a_refinement_that_is_refused_leaves_the_draws_as_they_were(data):
    # Scores of a network without training: draws in fragments.
    start = methods(GAUSS_PD={"steps": 4, "cov_samples": 20, "cov_steps": 4})
    table = refined_table(settings(methods=start, n_obs=(4,), simulations=1000), network(), *data)
    assert table.outcome.tolist() == ["kept", "kept"]
    assert table.simulations.tolist() == [0, 0]
    assert table.sw.iloc[0] == table.sw.iloc[1] > 1


def test_figure_and_table_show_it(table):
    drawn = figure.draw({"refined": table}, ROWS)
    after = table[table.state == "after"]
    for ax, column in zip(drawn.axes, figure.COLUMNS, strict=True):
        (line,) = [line for line in ax.lines if line.get_label() == "after refinement"]
        np.testing.assert_allclose(line.get_ydata(), after[column])
    made = numbers.make({"refined": table}, ROWS)
    assert made.tidy.n.tolist() == list(N_OBS)
    np.testing.assert_allclose(made.tidy.offset_after, after.offset)
    assert made.tidy[list(numbers.OUTCOMES)].sum(axis=1).tolist() == [1, 1]
    assert made.shown.outcome.tolist() == [f"1 {outcome}" for outcome in after.outcome]


def test_too_few_simulations_are_refused():
    with pytest.raises(SettingsError, match="simulations = 10"):
        settings(simulations=10)

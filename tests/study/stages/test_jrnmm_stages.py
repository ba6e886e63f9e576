"""The jrnmm study on small sizes: data, draws, tables, with an untrained network."""

import numpy as np
import pytest
import torch
from settings import BOUNDS, TRUTH, methods, sampling

from tallsbi.schedule import NETWORK
from tallsbi.storage.files import write_dataset
from tallsbi.study.settings.collect import CollectSettings
from tallsbi.study.settings.measure import CalibrationTestSettings, DiracSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.stages import simulate
from tallsbi.study.stages.calibration import lc2st_table
from tallsbi.study.stages.collect import collect
from tallsbi.study.stages.dirac import dirac_table
from tallsbi.study.stages.sample import sample
from tallsbi.study.tasks import simulator
from tallsbi.training.loop import train
from tallsbi.training.settings import TrainingSettings

METHODS = methods(GAUSS={"steps": 10, "cov_steps": 10, "cov_eta": 0.5, "cov_samples": 20})


def problem(name="3d"):
    return simulator(ProblemSettings(name, BOUNDS, TRUTH))


def draws(kind, saved, data, n_obs, samples=1, **changes):
    bounds = ProblemSettings("3d", bounds=BOUNDS)
    settings = sampling(
        "3d", problem=bounds, methods=METHODS, kind=kind, n_obs=n_obs, samples=samples, **changes
    )
    return sample(settings, "GAUSS-clip", saved, data)


@pytest.fixture(scope="module")
def observations():
    return simulate.observations(problem(), 1, 4, seed=1)


@pytest.fixture(scope="module")
def saved():
    simulations = simulate.simulations(problem(), 64, seed=1)
    settings = TrainingSettings(
        epochs=4, batch_size=16, hidden=(16, 16), frequencies=4, theta_embedding=(8, 4), x_embedding=(8, 4)
    )
    theta, x = (torch.from_numpy(simulations[key].values) for key in ("theta", "x"))
    return train(theta, x, settings, NETWORK, seed=1).saved("3d")


def test_simulations_lie_in_the_prior_and_fewer_are_a_prefix():
    many, few = (simulate.simulations(problem("4d"), count, seed=2) for count in (12, 5))
    np.testing.assert_array_equal(many.x.values[:5], few.x.values)
    np.testing.assert_array_equal(many.theta.values[:5], few.theta.values)
    for name, (low, high) in BOUNDS.items():
        values = many.theta.sel(parameter=name)
        assert ((values >= low) & (values <= high)).all()
    assert many.x.shape == (12, 33)
    assert np.isfinite(many.x).all()


def test_observations_are_independent_and_do_not_depend_on_their_number(observations):
    fewer = simulate.observations(problem(), 1, 2, seed=1)
    np.testing.assert_array_equal(observations.x.values[:, :2], fewer.x.values)
    assert len(np.unique(observations.x.values[0, :, 5])) == 4
    assert fewer.theta.values.tolist() == [[135, 220, 2000]]


def test_calibration_pairs_share_a_parameter_not_the_noise():
    pairs = simulate.calibration(problem(), 3, 2, seed=1)
    assert pairs.x.shape == (3, 2, 33)
    assert not np.array_equal(pairs.x.values[:, 0], pairs.x.values[:, 1])
    # Observations of one parameter resemble each other more than those of different ones.
    within = np.abs(pairs.x.values[:, 0] - pairs.x.values[:, 1]).mean()
    between = np.abs(pairs.x.values[0, 0] - pairs.x.values[1:, 0]).mean()
    assert within < between


def test_seeds_and_kinds_have_streams_of_their_own():
    first, second = (simulate.simulations(problem(), 2, seed=seed) for seed in (1, 2))
    assert not np.array_equal(first.theta, second.theta)
    assert not np.array_equal(first.theta, simulate.calibration(problem(), 2, 1, seed=1).theta)


def test_from_draws_to_tables(saved, observations, tmp_path, monkeypatch):
    tall = draws("tall", saved, observations, (1, 4), 30)
    single = draws("single", saved, observations, (1,), 10)
    assert tall.theta.sizes == {"n": 2, "set": 1, "sample": 30, "parameter": 3}
    assert single.theta.sizes == {"n": 1, "set": 4, "sample": 10, "parameter": 3}
    frame = dirac_table([tall], DiracSettings(TRUTH, BOUNDS))
    assert len(frame) == 2 * 4
    average = frame[(frame.n == 4) & (frame.parameter != "all")].published.mean()
    assert frame[(frame.n == 4) & (frame.parameter == "all")].published.item() == pytest.approx(average)
    monkeypatch.setattr("tallsbi.study.stages.collect.MARGINAL_DRAWS", 8)
    paths = {"tall": [str(tmp_path / "tall.nc")], "single": [str(tmp_path / "single.nc")]}
    write_dataset(tall, paths["tall"][0])
    write_dataset(single, paths["single"][0])
    (table,) = collect(paths, CollectSettings("marginals"))
    assert len(table) == 2 * 8 * 3 + 4 * 8 * 3
    assert set(table[table.kind == "tall"].observation) == {-1}
    assert set(table[table.kind == "single"].observation) == {0, 1, 2, 3}
    assert set(table[table.kind == "single"].n) == {1}
    value = table.query("kind == 'tall' and n == 4 and draw == 2 and parameter == 'mu'").value
    assert value.item() == tall.theta.sel(n=4, set=0, parameter="mu").values[2]


def test_calibration_draws_and_their_test(saved, observations):
    pairs = simulate.calibration(problem(), 40, 2, seed=1)
    drawn = draws("calibration", saved, pairs, (1, 2))
    assert drawn.theta.sizes == {"n": 2, "set": 40, "sample": 1, "parameter": 3}
    again = draws("calibration", saved, pairs, (2,), batch="1-of-4")
    assert again.theta.sizes["set"] == 10
    tall = draws("tall", saved, observations, (2,), 30)
    for normaliser in (None, saved.normaliser):
        test = CalibrationTestSettings(2, classifiers=2, permutations=3, normalise=normaliser is not None)
        frame = lc2st_table(pairs, drawn, observations, tall, test, normaliser)
        assert frame.classifier.tolist() == [0, 1]
        assert frame.p_value.between(0, 1).all()
        assert (frame.calibration == 40).all()


def test_pairs_of_one_call_share_a_stream_and_calls_do_not(saved, monkeypatch):
    """The stream of a call is named by its first pair: batches that begin with a call give the same draws."""
    monkeypatch.setattr("tallsbi.study.stages.sample.CALIBRATION_PAIRS_PER_CALL", 5)
    pairs = simulate.calibration(problem(), 20, 1, seed=1)
    whole = draws("calibration", saved, pairs, (1,)).theta
    second = draws("calibration", saved, pairs, (1,), batch="2-of-2").theta
    np.testing.assert_allclose(second, whole.sel(set=second.set), rtol=1e-4)
    assert not np.allclose(whole[:, :5], whole[:, 5:10])


def test_a_lost_posterior_has_no_test_and_says_so(saved, observations):
    pairs = simulate.calibration(problem(), 10, 1, seed=1)
    tall = draws("tall", saved, observations, (1,), 5)
    drawn = draws("calibration", saved, pairs, (1,))
    drawn.theta[0, :6] = np.nan
    test = CalibrationTestSettings(1, classifiers=2, permutations=1, normalise=False)
    frame = lc2st_table(pairs, drawn, observations, tall, test, None)
    assert frame.p_value.isna().all()
    assert (frame.calibration == 10).all()  # all that were simulated: who diverges does not lack pairs


def test_what_is_not_configured_is_named():
    with pytest.raises(ValueError, match=r"3d: this needs jrnmm\.bounds"):
        _ = simulator(ProblemSettings("3d")).prior
    with pytest.raises(ValueError, match="the study has one"):
        problem().true_parameters(2)

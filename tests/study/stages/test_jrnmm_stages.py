"""The neuroscience study on small sizes: data, draws, tables, with an untrained network."""

import numpy as np
import pytest
import torch

from tallsbi.schedule import NETWORK
from tallsbi.study.stages import jrnmm_data as data
from tallsbi.study.stages.jrnmm_sampling import calibration_draws, single_draws, tall_draws
from tallsbi.study.stages.jrnmm_tidy import dirac_table, draw_table
from tallsbi.study.stages.jrnmm_validation import lc2st_table
from tallsbi.training.loop import train
from tallsbi.training.settings import TrainingSettings

BOUNDS = {"C": [10, 250], "mu": [50, 500], "sigma": [100, 5000], "g": [-20, 20]}
TRUTH = {"C": 135, "mu": 220, "sigma": 2000, "g": 0}
SETTINGS = {
    "seed": 3,
    "device": "cpu",
    "dtype": "float32",
    "clip": 3.0,
    "ddim": {"eta": {}, "eta_default": 0.5},
    "switch_over": 0.5,
    "bounds": BOUNDS,
    "fidelity": {"uniform_bounds_factor": 2.0},
    "method": {"steps": 10, "cov_steps": 10, "cov_eta": 0.5, "cov_samples": 20},
}


@pytest.fixture(scope="module")
def observations():
    return data.observations(3, list(TRUTH.values()), 4, seed=1)


@pytest.fixture(scope="module")
def saved():
    simulations = data.simulations(3, 64, BOUNDS, seed=1)
    settings = TrainingSettings(
        epochs=4, batch_size=16, hidden=(16, 16), frequencies=4, theta_embedding=(8, 4), x_embedding=(8, 4)
    )
    theta, x = (torch.from_numpy(simulations[key].values) for key in ("theta", "x"))
    return train(theta, x, settings, NETWORK, seed=1).saved("3d")


def test_simulations_lie_in_the_prior_and_fewer_are_a_prefix():
    many, few = (data.simulations(4, count, BOUNDS, seed=2) for count in (12, 5))
    np.testing.assert_array_equal(many.x.values[:5], few.x.values)
    np.testing.assert_array_equal(many.theta.values[:5], few.theta.values)
    for name, (low, high) in BOUNDS.items():
        values = many.theta.sel(parameter=name)
        assert ((values >= low) & (values <= high)).all()
    assert many.x.shape == (12, 33)
    assert np.isfinite(many.x).all()


def test_observations_are_independent_and_do_not_depend_on_their_number(observations):
    fewer = data.observations(3, list(TRUTH.values()), 2, seed=1)
    np.testing.assert_array_equal(observations.x.values[:2], fewer.x.values)
    assert len(np.unique(observations.x.values[:, 5])) == 4
    assert fewer.theta.values.tolist() == [135, 220, 2000]


def test_calibration_pairs_share_a_parameter_not_the_noise():
    pairs = data.calibration(3, 3, 2, BOUNDS, seed=1)
    assert pairs.x.shape == (3, 2, 33)
    assert not np.array_equal(pairs.x.values[:, 0], pairs.x.values[:, 1])
    # Observations of one parameter resemble each other more than those of different ones.
    within = np.abs(pairs.x.values[:, 0] - pairs.x.values[:, 1]).mean()
    between = np.abs(pairs.x.values[0, 0] - pairs.x.values[1:, 0]).mean()
    assert within < between


def test_seeds_and_kinds_have_streams_of_their_own():
    first, second = (data.simulations(3, 2, BOUNDS, seed=seed) for seed in (1, 2))
    assert not np.array_equal(first.theta, second.theta)
    assert not np.array_equal(first.theta, data.calibration(3, 2, 1, BOUNDS, seed=1).theta)


def test_from_draws_to_tables(saved, observations):
    tall = tall_draws("GAUSS-clip", saved, observations, [1, 4], 30, SETTINGS)
    single = single_draws("GAUSS-clip", saved, observations, 10, SETTINGS)
    assert tall.theta.sizes == {"n": 2, "sample": 30, "parameter": 3}
    assert single.theta.sizes == {"observation": 4, "sample": 10, "parameter": 3}
    frame = dirac_table([tall], TRUTH, BOUNDS)
    assert len(frame) == 2 * 4
    average = frame[(frame.n == 4) & (frame.parameter != "all")].published.mean()
    assert frame[(frame.n == 4) & (frame.parameter == "all")].published.item() == pytest.approx(average)
    draws = draw_table([tall], [single], most=8)
    assert len(draws) == 2 * 8 * 3 + 4 * 8 * 3
    assert set(draws[draws.kind == "tall"].observation) == {-1}
    assert set(draws[draws.kind == "single"].observation) == {0, 1, 2, 3}
    value = draws[
        (draws.kind == "tall") & (draws.n == 4) & (draws.draw == 2) & (draws.parameter == "mu")
    ].value
    assert value.item() == tall.theta.sel(n=4, parameter="mu").values[2]


def test_calibration_draws_and_their_test(saved, observations):
    pairs = data.calibration(3, 40, 2, BOUNDS, seed=1)
    drawn = calibration_draws("GAUSS-clip", saved, pairs, [1, 2], SETTINGS)
    assert drawn.theta.sizes == {"n": 2, "pair": 40, "parameter": 3}
    again = calibration_draws("GAUSS-clip", saved, pairs.isel(pair=slice(10)), [2], SETTINGS)
    assert again.theta.sizes["pair"] == 10
    tall = tall_draws("GAUSS-clip", saved, observations, [2], 30, SETTINGS)
    for normaliser in (None, saved.normaliser):
        frame = lc2st_table(pairs, drawn, observations, tall, 2, normaliser, classifiers=2, permutations=3)
        assert frame.classifier.tolist() == [0, 1]
        assert frame.p_value.between(0, 1).all()
        assert (frame.calibration == 40).all()


def test_a_diverged_posterior_has_no_test_and_says_so(saved, observations):
    pairs = data.calibration(3, 10, 1, BOUNDS, seed=1)
    tall = tall_draws("GAUSS-clip", saved, observations, [1], 5, SETTINGS)
    drawn = calibration_draws("GAUSS-clip", saved, pairs, [1], SETTINGS)
    drawn.theta[0, :6] = np.nan
    frame = lc2st_table(pairs, drawn, observations, tall, 1, None, classifiers=2, permutations=1)
    assert frame.p_value.isna().all()
    assert (frame.calibration == 4).all()

"""Sampling a task with a network: spaces, priors under both fidelity settings, and independence of the sets."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from settings import methods, sampling

from tallsbi.api.engine import normalised_prior
from tallsbi.schedule import NETWORK
from tallsbi.study.stages.ragged import at
from tallsbi.study.stages.sample import sample, sample_all
from tallsbi.study.stages.simulate import observations, simulations
from tallsbi.study.tasks import load
from tallsbi.training.loop import train
from tallsbi.training.settings import TrainingSettings

METHODS = methods(DET_GEF={"steps": 20}, JAC={"steps": 20})


@pytest.fixture(scope="module", params=["gaussian_linear", "slcp"])
def trained(request):
    task = load(request.param)
    data = simulations(task, 300, 1)
    latent = task.prior.to_latent(torch.from_numpy(data.theta.values))
    settings = TrainingSettings(epochs=4, batch_size=64, hidden=(32, 32, 32))
    result = train(latent, torch.from_numpy(data.x.values), settings, NETWORK, seed=1, log_x=task.log_x)
    return request.param, result.saved(request.param)


@pytest.mark.parametrize("method", ["DET_GEF-clip", "JAC-clip"])
def test_samples_are_in_the_parameters_space_with_all_dimensions_named(trained, method):
    name, saved = trained
    task = load(name)
    data = observations(task, 2, 4, 1)
    run = sample(sampling(name, methods=METHODS), method, saved, data)
    assert run.theta.sizes == {"n": 2, "set": 2, "sample": 40, "parameter": task.dim_theta}
    assert list(run.parameter.values) == list(task.parameter_names)
    normalised = (run.theta.values - saved.normaliser.theta_mean.numpy()) / saved.normaliser.theta_std.numpy()
    assert np.abs(normalised).max() <= 3.0 + 1e-5


def test_a_set_does_not_depend_on_the_others(trained):
    name, saved = trained
    data, settings = observations(load(name), 3, 4, 1), sampling(name, methods=METHODS, n_obs=(4,))
    joint = sample(settings, "DET_GEF-clip", saved, data)
    alone = sample(replace(settings, batch="2-of-3"), "DET_GEF-clip", saved, data)
    np.testing.assert_allclose(joint.theta.sel(set=1), alone.theta.sel(set=1), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", ["sets", "calibration"])
@pytest.mark.parametrize("method", ["DET_GEF", "JAC"])
def test_plain_and_clipped_draws_in_one_pass_are_those_of_either_alone(trained, method, kind):
    name, saved = trained
    names = (method, f"{method}-clip")
    settings = sampling(name, methods=METHODS, names=names, n_obs=(1, 4), kind=kind, dtype="float64")
    data = observations(load(name), 3, 4, 1)
    both = sample_all(settings, saved, data)
    assert list(both) == list(names)
    for run_name in names:
        alone = sample(settings, run_name, saved, data)
        assert both[run_name].attrs == alone.attrs
        xr.testing.assert_allclose(both[run_name], alone, rtol=1e-7, atol=1e-7)
        only = sample_all(replace(settings, names=(run_name,)), saved, data)
        assert list(only) == [run_name]
        xr.testing.assert_identical(only[run_name], alone)
    xr.testing.assert_identical(both[method], sample(settings, method, saved, data))


def test_bounds_factor_widens_a_uniform_prior_and_leaves_a_gaussian_alone(trained):
    name, saved = trained
    prior = load(name).prior
    true, wide = normalised_prior(prior, saved, 1.0), normalised_prior(prior, saved, 2.0)
    if name == "slcp":
        expected = (3.0 - saved.normaliser.theta_mean) / saved.normaliser.theta_std
        torch.testing.assert_close(true.high.double(), expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(wide.high, 2 * true.high)
    else:
        torch.testing.assert_close(wide.cov, true.cov)


def test_dtype_is_that_of_the_computation_and_leaves_the_network_alone(trained):
    """Draws in float32 and float64 start from different noise, but a posterior has one mean."""
    name, saved = trained
    data = observations(load(name), 2, 1, 1)
    settings = sampling(name, methods=METHODS, n_obs=(1,), samples=2000)
    single = sample(settings, "DET_GEF-clip", saved, data)
    double = sample(replace(settings, dtype="float64"), "DET_GEF-clip", saved, data)
    assert next(saved.network.parameters()).dtype == torch.float32
    rounded = double.theta.values.astype(np.float32).astype(np.float64)
    assert not np.array_equal(double.theta.values, rounded)
    spread = double.theta.std("sample")
    difference = np.abs(single.theta.mean("sample") - double.theta.mean("sample")) / spread
    assert difference.max() < 5 * np.sqrt(2 / 2000)


def test_too_few_observations_are_named(trained):
    name, saved = trained
    settings = sampling(name, methods=METHODS, n_obs=(8,))
    with pytest.raises(ValueError, match=r"n = 8.*sbibm\.observations"):
        sample(settings, "DET_GEF", saved, observations(load(name), 2, 4, 1))


def test_an_n_with_fewer_draws_has_those_and_no_more(trained):
    """The draws of the other n are those of a run in which all have the same number."""
    name, saved = trained
    data, settings = observations(load(name), 2, 4, 1), sampling(name, methods=METHODS, n_obs=(1, 4))
    same = sample(settings, "DET_GEF-clip", saved, data)
    fewer = sample(replace(settings, samples_by_n={"4": 7}), "DET_GEF-clip", saved, data)
    assert [at(fewer, n).sizes["sample"] for n in (1, 4)] == [40, 7]
    assert at(fewer, 4).theta.notnull().all()
    xr.testing.assert_equal(at(fewer, 1).theta, at(same, 1).theta)
    assert fewer.attrs == same.attrs


def test_the_first_sets_alone_are_those_of_all(trained):
    name, saved = trained
    data, settings = observations(load(name), 3, 4, 1), sampling(name, methods=METHODS, n_obs=(4,))
    run = sample(replace(settings, sets=2), "DET_GEF-clip", saved, data)
    assert run["set"].values.tolist() == [0, 1]

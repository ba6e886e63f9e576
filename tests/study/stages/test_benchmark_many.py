"""Many observations: relative errors against a known posterior, and memory that does not grow with n."""

from functools import partial

import numpy as np
import pytest
import torch
from cost_study import PAUSE, SETTINGS, TASK, constant_distance, known, network  # noqa: F401

from tallsbi import algorithms
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import integer_seed
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.stages import costs, data, many, many_data
from tallsbi.study.tasks import load

REFERENCE = ChainSettings(chains=4, warmup=10, draws=10, min_ess=1, max_rhat=2, retries=0, target_accept=0.9)
MiB = 2**20


def plain(items, label=""):
    return items


def truth(observed, n_obs, samples=8, seed=5):
    return many_data.references(TASK, observed.x.values, n_obs, samples, REFERENCE, seed, plain)


@pytest.fixture(scope="module")
def measured():
    return not np.isnan(costs.peak_growth(lambda: None)[1])


def test_observations_are_others_than_the_benchmark_s_of_the_same_parameters():
    ours, theirs = many_data.observations(TASK, 2, 5, 1), data.observations(TASK, 2, 5, 1)
    np.testing.assert_array_equal(ours.theta, theirs.theta)
    assert not np.isclose(ours.x, theirs.x).any()
    longer = many_data.observations(TASK, 2, 9, 1)
    np.testing.assert_array_equal(longer.x[:, :5], ours.x)


def test_references_are_the_posterior_of_the_first_n_observations():
    """Means and variances of 2 x 4000 draws, ten coordinates, two n: five standard errors, false alarms 2e-5."""
    observed, count = many_data.observations(TASK, 1, 1000, 1), 8000
    draws = truth(observed, [3, 1000], samples=count // 2).theta
    assert draws.sizes == {"n": 2, "set": 1, "sample": count, "parameter": 10}
    for n in (3, 1000):
        mean, cov = load(TASK).closed_form(observed.x.values[0, :n])
        theta = draws.sel(n=n, set=0).values
        assert np.all(np.abs(theta.mean(0) - mean) < 5 * np.sqrt(np.diag(cov) / count))
        assert np.all(np.abs(theta.var(0) / np.diag(cov) - 1) < 5 * np.sqrt(2 / count))


def test_error_is_the_distance_relative_to_the_reference_s_spread(known):  # noqa: F811
    observed, saved = many_data.observations(TASK, 2, 6, 1), network()
    references = truth(observed, [1, 6])
    methods = {"KNOWN": {"steps": 9, "value": 0.5}, "OTHER": {"steps": 1, "value": 0.5}}
    plan = {"sets": 2, "n_obs": [1, 6], "samples": 8, "max_steps": 3}
    settings = {**SETTINGS, "methods": methods, "many": plan}
    frame = many.many_table(TASK, saved, observed, references, 50, settings)
    assert len(frame) == 2 * 2 * 2
    assert not frame.duplicated(["n", "set", "method"]).any()
    assert frame.steps.tolist() == [3, 1] * 4  # no more than max_steps
    assert (frame.seconds >= PAUSE * frame.steps).all()
    for row in frame[frame.method == "KNOWN"].itertuples():
        draws = references.theta.sel(n=row.n, set=row.set).values
        spread = np.sqrt(np.mean([np.var(column, ddof=1) for column in draws.T]))
        directions = integer_seed(3, "sbibm", TASK, "many", row.n, row.set, "directions") % 2**32
        sw = constant_distance(saved, 0.5, draws[:8], 20, directions)
        assert row.error == pytest.approx(sw / spread, rel=1e-5)
        assert 0 < row.error_self < 3
    lost = frame[frame.method == "OTHER"]
    assert lost.error.isna().all()
    assert lost.finite_share.tolist() == [7 / 8] * 4
    assert all(call.x.shape[0] == 1 for call in known)


def test_peak_is_that_of_the_work_and_not_of_what_came_before(measured):
    if not measured:
        pytest.skip("this system does not tell the peak")

    def work(size):
        return costs.peak_growth(lambda: float(torch.ones(size * MiB // 4).sum()))

    work(1)
    results = [work(size) for size in (256, 1, 64)]
    assert [result for result, _ in results] == [size * MiB / 4 for size in (256, 1, 64)]
    growth = [grown for _, grown in results]
    assert growth[0] == pytest.approx(256, abs=4)
    assert growth[1] < 8
    assert growth[2] == pytest.approx(64, abs=4)


def test_unknown_peaks_are_no_numbers(monkeypatch):
    monkeypatch.setattr(costs, "_restart_peak", lambda: False)
    result, growth = costs.peak_growth(lambda: 3)
    assert result == 3
    assert np.isnan(growth)


@pytest.mark.parametrize("method", ["GAUSS_PD", "DET_GEF", "LANGEVIN"])
def test_memory_does_not_grow_with_the_observations(measured, method):
    """A tensor over samples, observations and hidden units alone would have 98 MiB at n = 1000."""
    if not measured:
        pytest.skip("this system does not tell the peak")
    observed = many_data.observations(TASK, 1, 1000, 1).x.values[0]
    posterior = NetworkEngine(network(hidden=(256, 256)), load(TASK).prior)
    own = {"GAUSS_PD": {"cov_steps": 1, "cov_samples": 30}, "LANGEVIN": {"inner_steps": 1}}
    algorithm = algorithms.build(method, {"steps": 2, **own.get(method, {})})

    def growth(n):
        solve = partial(costs.solve, posterior, algorithm, observed[:n], 100)
        return costs.peak_growth(lambda: solve(torch.Generator().manual_seed(0)))[1]

    growth(100)
    assert growth(1000) < growth(100) + 25

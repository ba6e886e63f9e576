"""Many observations: relative errors against a known posterior, and memory that does not grow with n."""

import numpy as np
import pytest
import torch
from cost_study import PAUSE, TASK, constant_distance, network, timing
from settings import silent

from tallsbi import algorithms
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import integer_seed
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.time import ManySettings
from tallsbi.study.stages import protocol
from tallsbi.study.stages.many import many_observations, many_references
from tallsbi.study.stages.simulate import observations
from tallsbi.study.stages.time_network import CostStudy, many_table
from tallsbi.study.tasks import load

CHAINS = ChainSettings(4, 10, 10, target_accept=0.9, max_rhat=2, min_ess=1, retries=0)
MiB = 2**20


def plan(sets, *n_obs, samples=8, seed=1):
    return ManySettings(seed, ProblemSettings(TASK), sets, n_obs, samples, CHAINS)


@pytest.fixture(scope="module")
def measured():
    return not np.isnan(protocol.peak_growth(lambda: None)[1])


def test_observations_are_others_than_those_of_observe_for_the_same_parameters():
    ours, theirs = many_observations(plan(2, 5)), observations(load(TASK), 2, 5, 1)
    np.testing.assert_array_equal(ours.theta, theirs.theta)
    assert not np.isclose(ours.x, theirs.x).any()
    longer = many_observations(plan(2, 9))
    np.testing.assert_array_equal(longer.x[:, :5], ours.x)


def test_references_are_the_posterior_of_the_first_n_observations():
    """Means and variances of 2 x 4000 draws, ten coordinates, two n: five standard errors, false alarms 2e-5."""
    count = 8000
    settings = plan(1, 3, 1000, samples=count // 2)
    observed = many_observations(settings)
    draws = many_references(settings, observed, silent).theta
    assert draws.sizes == {"n": 2, "set": 1, "sample": count, "parameter": 10}
    for n in (3, 1000):
        mean, cov = load(TASK).closed_form(observed.x.values[0, :n])
        theta = draws.sel(n=n, set=0).values
        assert np.all(np.abs(theta.mean(0) - mean) < 5 * np.sqrt(np.diag(cov) / count))
        assert np.all(np.abs(theta.var(0) / np.diag(cov) - 1) < 5 * np.sqrt(2 / count))


def test_error_is_the_distance_relative_to_the_reference_s_spread(known):
    observed, saved = many_observations(plan(2, 1, 6)), network()
    references = many_references(plan(2, 1, 6), observed, silent)
    methods = {"KNOWN": {"steps": 9, "value": 0.5}, "OTHER": {"steps": 1, "value": 0.5}}
    settings = timing(methods, sets=2, n_obs=(1, 6), samples=8, max_steps=3)
    frame = many_table(CostStudy(settings, saved, observed, {n: references.sel(n=n) for n in (1, 6)}))
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
    assert lost.lost_share.tolist() == [1 / 8] * 4
    assert all(call.x.shape[0] == 1 for call in known)


def test_peak_is_that_of_the_work_and_not_of_what_came_before(measured):
    if not measured:
        pytest.skip("this system does not tell the peak")

    def work(size):
        return protocol.peak_growth(lambda: float(torch.ones(size * MiB // 4).sum()))

    work(1)
    results = [work(size) for size in (256, 1, 64)]
    assert [result for result, _ in results] == [size * MiB / 4 for size in (256, 1, 64)]
    growth = [grown for _, grown in results]
    assert growth[0] == pytest.approx(256, abs=4)
    assert growth[1] < 8
    assert growth[2] == pytest.approx(64, abs=4)


def test_unknown_peaks_are_no_numbers(monkeypatch):
    monkeypatch.setattr(protocol, "_restart_peak", lambda: False)
    result, growth = protocol.peak_growth(lambda: 3)
    assert result == 3
    assert np.isnan(growth)


@pytest.mark.parametrize("method", ["GAUSS_PD", "DET_GEF", "LANGEVIN"])
def test_memory_does_not_grow_with_the_observations(measured, method):
    """A tensor over samples, observations and hidden units alone would have 98 MiB at n = 1000."""
    if not measured:
        pytest.skip("this system does not tell the peak")
    observed = many_observations(plan(1, 1000)).x.values
    posterior = NetworkEngine(network(hidden=(256, 256)), load(TASK).prior)
    few_steps = {"GAUSS_PD": {"cov_steps": 1, "cov_samples": 30}, "LANGEVIN": {"inner_steps": 1}}
    algorithm = algorithms.build(method, {"steps": 2, **few_steps.get(method, {})})

    def growth(n):
        x, generators = torch.from_numpy(observed[:, :n]), [torch.Generator().manual_seed(0)]
        return protocol.peak_growth(lambda: posterior.sample(algorithm, x, 100, generators))[1]

    growth(100)
    assert growth(1000) < growth(100) + 25

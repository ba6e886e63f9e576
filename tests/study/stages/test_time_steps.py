"""Accuracy against time steps: every cell once, one dataset at a time, distances and divergence as they are."""

import numpy as np
import pytest
import torch
import xarray as xr
from cost_study import PAUSE, TASK, constant_distance, network, timing

from tallsbi.api.engine import NetworkEngine
from tallsbi.random import integer_seed
from tallsbi.study.stages.simulate import observations
from tallsbi.study.stages.time_network import CostStudy, steps_table
from tallsbi.study.tasks import load

PLAN = {"sets": 2, "n_obs": (2, 5), "samples": 6, "grid": (1, 3)}
METHODS = {"KNOWN": {"steps": 9, "value": 0.5}, "OTHER": {"steps": 9, "value": -1.0}}


def references(draws=12, sets=3):
    """References that differ between n and set; one of them in doubt."""
    rng = np.random.default_rng(0)
    made = {}
    for n in PLAN["n_obs"]:
        theta = rng.normal(size=(sets, draws, 10)) + n
        passed = np.arange(sets) != (1 if n == 5 else -1)
        made[n] = xr.Dataset(
            {"theta": (("set", "sample", "parameter"), theta), "passed": ("set", passed)},
            coords={"set": np.arange(sets)},
        )
    return made


def table(truths, methods=METHODS, **plan):
    settings = timing(methods, **{**PLAN, **plan})
    return steps_table(CostStudy(settings, network(), observations(load(TASK), 3, 6, 1), truths))


def test_every_cell_is_there_once_with_its_cost(known):
    frame = table(references())
    keys = ["n", "set", "method", "steps"]
    assert not frame.duplicated(keys).any()
    assert len(frame) == 2 * 2 * 2 * 2
    assert set(frame.n_train) == {50}
    assert (frame.score_evaluations == 7 * frame.steps).all()
    assert (frame.seconds >= PAUSE * frame.steps).all()
    assert frame.reference_passed.to_numpy().tolist() == ((frame.n != 5) | (frame.set != 1)).tolist()


def test_each_run_is_one_dataset_after_a_run_to_warm_up(known):
    table(references())
    warm, timed = known[:4], known[4:]
    assert {call.steps for call in warm} == {1}
    assert len(timed) == 16
    data, saved = observations(load(TASK), 3, 6, 1).x.values, network()
    for n in PLAN["n_obs"]:
        for b in range(2):
            expected = saved.normaliser.x(torch.from_numpy(data[b : b + 1, :n])).float()
            same = [
                call for call in timed if call.x.shape == expected.shape and torch.equal(call.x, expected)
            ]
            assert sorted((call.steps, call.value) for call in same) == [
                (1, -1.0),
                (1, 0.5),
                (3, -1.0),
                (3, 0.5),
            ]
    # In turns: sorted by any of the keys, a slow moment of the machine would hit one method alone.
    assert [call.value for call in timed] != sorted(call.value for call in timed)
    assert [call.steps for call in timed] != sorted(call.steps for call in timed)


@pytest.mark.parametrize("draws", [4, 6, 12])
def test_distance_is_to_the_set_s_own_reference_with_as_many_draws_as_both_have(known, draws):
    truths, saved = references(draws), network()
    frame = table(truths)
    for row in frame[frame.steps == 3].itertuples():
        theta = truths[row.n].theta.sel(set=row.set).values[: min(draws, 6)]
        directions = integer_seed(3, "sbibm", TASK, "steps", row.n, row.set, "directions") % 2**32
        value = METHODS[row.method]["value"]
        assert row.sw == pytest.approx(constant_distance(saved, value, theta, 20, directions), rel=1e-5)
    assert frame.sw_self.notna().all() == (draws >= 12)
    assert (frame.groupby(["n", "set"]).sw_self.nunique() <= 1).all()


def test_divergence_is_a_result(known):
    frame = table(references())
    lost = frame[frame.steps == 1]
    assert lost.sw.isna().all()
    assert lost.lost_share.tolist() == pytest.approx([1 / 6] * 8)
    assert (lost.seconds > 0).all()
    assert (frame[frame.steps == 3].lost_share == 0).all()


def test_samples_do_not_depend_on_the_other_cells():
    methods = {"DET_GEF": {"steps": 9}, "GAUSS_PD": {"steps": 9, "cov_steps": 2, "cov_samples": 20}}
    whole = table(references(), methods, grid=(3, 4))
    alone = table(references(), {"GAUSS_PD": methods["GAUSS_PD"]}, grid=(4,), n_obs=(5,), sets=2)
    merged = alone.merge(whole, on=["n", "set", "method", "steps"])
    assert len(merged) == len(alone) == 2
    np.testing.assert_array_equal(merged.sw_x, merged.sw_y)


def test_churn_of_ddim_follows_the_table_by_steps(monkeypatch):
    etas = []

    def sample(engine, algorithm, *rest):
        etas.append((algorithm.steps, algorithm.eta))
        raise StopIteration

    monkeypatch.setattr(NetworkEngine, "sample", sample)
    for grid in ((50,), (60,)):
        with pytest.raises(StopIteration):
            table(references(), {"JAC": {"steps": 9}}, grid=grid)
    assert etas == [(50, 0.2), (60, 0.5)]


@pytest.mark.parametrize(("key", "value"), [("sets", 4), ("n_obs", (2, 7))])
def test_too_few_observations_are_refused(key, value):
    with pytest.raises(ValueError, match=f"sbibm.steps.{key} = "):
        table(references(), **{key: value})


@pytest.mark.parametrize(("samples", "draws"), [(20, 20), (6, 11)])
def test_times_are_those_of_as_many_draws_for_a_covariance_as_samples(monkeypatch, samples, draws):
    """The paper's ratio, but more draws than dimensions; distances have the draws of the configuration."""
    cov_samples = []
    sample = NetworkEngine.sample

    def watched(engine, algorithm, *rest):
        cov_samples.append((algorithm.steps, algorithm.cov_samples))
        return sample(engine, algorithm, *rest)

    monkeypatch.setattr(NetworkEngine, "sample", watched)
    gauss_pd = {"GAUSS_PD": {"steps": 9, "cov_steps": 2, "cov_samples": 40}}
    frame = table(references(), gauss_pd, grid=(3,), n_obs=(2,), sets=1, samples=samples)
    assert cov_samples == 2 * [(3, draws), (3, 40)]
    assert frame.steps.tolist() == [3]

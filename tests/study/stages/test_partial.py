"""Partial factorisation of a task: nested simulations, blocks as observations, and the table of distances."""

import numpy as np
import pandas as pd
import pytest
import torch

from tallsbi.schedule import NETWORK
from tallsbi.scores.groups import GroupEncoding
from tallsbi.study.stages.data import observations, set_simulations, simulations
from tallsbi.study.stages.distances import distance_table
from tallsbi.study.stages.partial import sample_sets
from tallsbi.study.stages.partial_distances import partial_table, set_distances
from tallsbi.study.stages.sampling import sample_task
from tallsbi.study.tasks import load
from tallsbi.training.groups import train_on_groups
from tallsbi.training.settings import TrainingSettings

SETTINGS = {
    "seed": 3,
    "device": "cpu",
    "dtype": "float32",
    "clip": 3.0,
    "ddim": {"eta": {"50": 0.2}, "eta_default": 0.5},
    "switch_over": 0.5,
    "sbibm": {"samples": 30},
    "fidelity": {"uniform_bounds_factor": 2.0},
    "method": {"steps": 10},
    "metrics": {"projections": 20, "c2st_backend": "batched"},
}


@pytest.mark.parametrize("name", ["slcp", "sir", "lotka_volterra"])
def test_fewer_parameters_and_fewer_members_are_the_beginning_of_more(name):
    large = set_simulations(name, 30, 4, 7)
    assert large.x.dtype == np.float32
    assert large.x.shape == (30, 4, load(name).dim_x)
    small = set_simulations(name, 20, 3, 7)
    np.testing.assert_array_equal(small.x, large.x[:20, :3])
    np.testing.assert_array_equal(small.theta, large.theta[:20])
    assert not np.array_equal(set_simulations(name, 20, 3, 8).x, small.x)


def test_members_have_noise_of_their_own_and_the_parameters_are_the_training_ones():
    data, plain = set_simulations("slcp", 20, 3, 7), simulations("slcp", 20, 7)
    np.testing.assert_array_equal(data.theta, plain.theta)
    draws = np.concatenate([data.x.values, plain.x.values[:, None]], axis=1)[..., 0]
    assert all(len(set(row.tolist())) == 4 for row in draws)


def trained(name, encoding):
    task, data = load(name), set_simulations(name, 200, encoding.n_max, 1)
    latent = task.prior.to_latent(torch.from_numpy(data.theta.values))
    settings = TrainingSettings(epochs=3, batch_size=64, hidden=(16, 16))
    x = torch.from_numpy(data.x.values)
    return train_on_groups(latent, x, encoding, settings, NETWORK, seed=1).saved(name)


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
@pytest.mark.parametrize(("name", "method"), [("slcp", "GAUSS-clip"), ("lotka_volterra", "LANGEVIN-clip")])
def test_samples_of_blocks_are_those_of_the_composition_of_as_many_observations(kind, name, method):
    encoding = GroupEncoding(kind, 3, load(name).log_x)
    saved, data = trained(name, encoding), observations(name, 2, 9, 1)
    few = {"cov_samples": 20, "cov_steps": 5} if "GAUSS" in method else {}
    settings = {**SETTINGS, "method": {"steps": 10, **few}}
    run = sample_sets(method, saved, encoding, data, 8, 200, settings)
    assert run.theta.sizes == {"n": 1, "set": 2, "sample": 30, "parameter": load(name).dim_theta}
    assert run.n.values.tolist() == [8]
    assert {key: run.attrs[key] for key in ("task", "method", "n_max", "encoder", "blocks")} == {
        "task": name, "method": method, "n_max": 3, "encoder": kind, "blocks": 3,
    }  # fmt: skip
    assert np.isfinite(run.theta).all()
    # The ninth observation is not used; the eighth, alone with the seventh in the last block, is.
    for used, index in ((False, 8), (True, 7)):
        changed = data.copy(deep=True)
        changed["x"][:, index] = changed["x"][:, index] * 1.5 + 0.1
        other = sample_sets(method, saved, encoding, changed, 8, 200, settings)
        assert np.array_equal(other.theta, run.theta) != used


def test_too_few_observations_are_named():
    encoding = GroupEncoding("mean", 3)
    saved, data = trained("slcp", encoding), observations("slcp", 2, 4, 1)
    with pytest.raises(ValueError, match=r"n = 8.*sbibm\.observations"):
        sample_sets("LANGEVIN", saved, encoding, data, 8, 200, SETTINGS)


def test_distances_carry_n_max_and_encoder_and_join_those_of_the_ordinary_network():
    data = observations("slcp", 2, 4, 1)
    encodings = [GroupEncoding("mean", 2), GroupEncoding("deep_set", 3)]
    runs = [
        sample_sets(method, trained("slcp", encoding), encoding, data, 4, 200, SETTINGS)
        for encoding in encodings
        for method in ("LANGEVIN-clip", "DET_GEF-clip")
    ]
    reference = runs[0][["theta"]].sel(n=4, drop=True)
    reference = reference.assign(passed=("set", [True, False]))
    table = set_distances(runs, reference, 4, 200, SETTINGS)
    assert list(zip(table.method, table.n_max, table.encoder, table.set, strict=True)) == [
        (method, encoding.n_max, encoding.kind, index)
        for encoding in encodings
        for method in ("LANGEVIN-clip", "DET_GEF-clip")
        for index in (0, 1)
    ]
    assert table.sw[:2].tolist() == [0, 0]
    assert (table.sw[2:] > 0).all()
    assert table.reference_passed.tolist() == [True, False] * 4
    ordinary = GroupEncoding("mean", 1)
    network = trained("slcp", ordinary)
    rows = data.assign(
        x=(("set", "observation", "feature"), ordinary.blocks(torch.from_numpy(data.x.values)).numpy())
    ).drop_vars("theta")
    plain = {
        method: sample_task("slcp", method, network, rows, [1, 4], 200, SETTINGS)
        for method in ("LANGEVIN-clip", "TAMED-clip")
    }
    distances = distance_table(plain, {1: reference, 4: reference}, 200, SETTINGS)
    both = partial_table([distances], [table], ["LANGEVIN-clip", "DET_GEF-clip"], 4)
    assert list(both.columns) == list(table.columns)
    first = both[both.n_max == 1]
    assert (len(first), set(first.method), set(first.encoder)) == (2, {"LANGEVIN-clip"}, {"none"})
    assert set(both.n) == {4}
    pd.testing.assert_frame_equal(both[both.n_max > 1].reset_index(drop=True), table)

"""Partial factorisation of a task: nested simulations, groups as observations, and the table of distances."""

import numpy as np
import pandas as pd
import pytest
import torch
from settings import measuring, methods, sampling

from tallsbi.schedule import NETWORK
from tallsbi.scores.groups import GroupEncoding
from tallsbi.storage.files import write_text
from tallsbi.study.settings.collect import CollectSettings
from tallsbi.study.stages.collect import collect
from tallsbi.study.stages.measure import distance_table
from tallsbi.study.stages.partial import sample_groups
from tallsbi.study.stages.sample import sample
from tallsbi.study.stages.simulate import observations, simulations
from tallsbi.study.tasks import load
from tallsbi.training.groups import train_on_groups
from tallsbi.training.settings import TrainingSettings

STEPS = {"steps": 10}
METHODS = methods(
    GAUSS={**STEPS, "cov_samples": 20, "cov_steps": 5}, LANGEVIN=STEPS, DET_GEF=STEPS, TAMED=STEPS
)


def groups_of(name, count, members, seed):
    return simulations(load(name), count, seed, members)


def settings(name, *n_obs):
    return sampling(name, methods=METHODS, samples=30, n_obs=n_obs, n_train=200)


@pytest.mark.parametrize("name", ["slcp", "sir", "lotka_volterra"])
def test_fewer_parameters_and_fewer_members_are_the_beginning_of_more(name):
    large = groups_of(name, 30, 4, 7)
    assert large.x.dtype == np.float32
    assert large.x.shape == (30, 4, load(name).dim_x)
    small = groups_of(name, 20, 3, 7)
    np.testing.assert_array_equal(small.x, large.x[:20, :3])
    np.testing.assert_array_equal(small.theta, large.theta[:20])
    assert not np.array_equal(groups_of(name, 20, 3, 8).x, small.x)


def test_members_have_noise_of_their_own_and_the_parameters_are_the_training_ones():
    data, plain = groups_of("slcp", 20, 3, 7), simulations(load("slcp"), 20, 7)
    np.testing.assert_array_equal(data.theta, plain.theta)
    draws = np.concatenate([data.x.values, plain.x.values[:, None]], axis=1)[..., 0]
    assert all(len(set(row.tolist())) == 4 for row in draws)


def trained(name, encoding):
    task, data = load(name), groups_of(name, 200, encoding.n_max, 1)
    latent = task.prior.to_latent(torch.from_numpy(data.theta.values))
    settings = TrainingSettings(epochs=3, batch_size=64, hidden=(16, 16))
    x = torch.from_numpy(data.x.values)
    return train_on_groups(latent, x, encoding, settings, NETWORK, seed=1).saved(name)


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
@pytest.mark.parametrize(("name", "method"), [("slcp", "GAUSS-clip"), ("lotka_volterra", "LANGEVIN-clip")])
def test_samples_of_blocks_are_those_of_the_composition_of_as_many_observations(kind, name, method):
    encoding = GroupEncoding(kind, 3, load(name).log_x)
    saved, data = trained(name, encoding), observations(load(name), 2, 9, 1)
    run = sample_groups(settings(name, 8), method, saved, encoding, data)
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
        other = sample_groups(settings(name, 8), method, saved, encoding, changed)
        assert np.array_equal(other.theta, run.theta) != used


def test_too_few_observations_are_named():
    encoding = GroupEncoding("mean", 3)
    saved, data = trained("slcp", encoding), observations(load("slcp"), 2, 4, 1)
    with pytest.raises(ValueError, match=r"n = 8.*sbibm\.observations"):
        sample_groups(settings("slcp", 8), "LANGEVIN", saved, encoding, data)


def test_distances_carry_n_max_and_encoder_and_join_those_of_the_ordinary_network(tmp_path):
    data = observations(load("slcp"), 2, 4, 1)
    encodings = [GroupEncoding("mean", 2), GroupEncoding("deep_set", 3)]
    runs = [
        sample_groups(settings("slcp", 4), method, trained("slcp", encoding), encoding, data)
        for encoding in encodings
        for method in ("LANGEVIN-clip", "DET_GEF-clip")
    ]
    reference = runs[0][["theta"]].sel(n=4, drop=True)
    reference = reference.assign(passed=("set", [True, False]))
    table = distance_table(runs, {4: reference}, measuring(4))
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
    plain = [
        sample(settings("slcp", 1, 4), method, network, rows) for method in ("LANGEVIN-clip", "TAMED-clip")
    ]
    distances = distance_table(plain, {1: reference, 4: reference}, measuring(1, 4))
    paths = {"plain": [str(tmp_path / "plain.csv")], "groups": [str(tmp_path / "groups.csv")]}
    for name, frame in (("plain", distances), ("groups", table)):
        write_text(frame.to_csv(index=False), paths[name][0])
    shown = CollectSettings("partial", methods=("LANGEVIN-clip", "DET_GEF-clip"), n=4)
    (both,) = collect(paths, shown)
    assert list(both.columns) == list(table.columns)
    first = both[both.n_max == 1]
    assert (len(first), set(first.method), set(first.encoder)) == (2, {"LANGEVIN-clip"}, {"none"})
    assert set(both.n) == {4}
    pd.testing.assert_frame_equal(both[both.n_max > 1].reset_index(drop=True), table)

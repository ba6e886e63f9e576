"""Draws that blew up are lost in every table of distances, whatever the metric would say of them."""

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from settings import measuring
from table_data import SETTINGS

from tallsbi.metrics.validity import usable_draws
from tallsbi.priors.gaussian import Gaussian
from tallsbi.study.analysis.ranking import by_method, rank_metrics
from tallsbi.study.analysis.validity import comparable
from tallsbi.study.settings.measure import CalibrationTestSettings, DiracSettings
from tallsbi.study.settings.toy import ToyMeasureSettings
from tallsbi.study.stages import measure, measure_toy
from tallsbi.study.stages.calibration import lc2st_table
from tallsbi.study.stages.dirac import dirac_table
from tallsbi.study.stages.health import HEALTH, prior_variables, usable
from tallsbi.study.tables import metric_summary
from tallsbi.study.tasks import load

SIZE, M, SETS = 100, 2, 3
STD = 2.0
EACH_SCALE = pytest.mark.parametrize("scale", [50.0, 1e9, 1e61, np.inf, np.nan])


def normal(*names, size=SIZE, m=M):
    return np.random.default_rng(names).standard_normal((SETS, size, m))


def run(theta, method="GOOD", axis="set", n=1, **attrs):
    """Draws [set, sample, parameter] as a sampling job packs them, under the prior N(0, 4 I)."""
    counts = (("n", axis), np.zeros((1, len(theta)), int))
    times = (("n", axis), np.full((1, len(theta)), np.nan))
    prior = Gaussian(torch.zeros(M), STD**2 * torch.eye(M))
    return xr.Dataset(
        {
            "theta": (("n", axis, "sample", "parameter"), theta[None]),
            **{name: times if name.endswith("_time") else counts for name in HEALTH},
            **prior_variables(prior, axis),
        },
        coords={"n": [n], axis: np.arange(len(theta))},
        attrs={"task": "slcp", "method": method, "steps": 5, "score_evaluations": 5, **attrs},
    )


def reference(axis="set"):
    truth = xr.Dataset(
        {
            "theta": ((axis, "sample", "parameter"), normal(0, size=4 * SIZE)),
            "passed": (axis, np.ones(SETS, bool)),
        },
        coords={axis: np.arange(SETS)},
    )
    return truth.expand_dims(n=[1]).assign_attrs(problem="mixture", m=M) if axis == "seed" else truth


def exploded(scale, share=0.1):
    """So many of the draws of every set: that far off, in prior standard deviations."""
    theta = normal(1)
    theta[:, : round(share * SIZE)] = np.sign(normal(2)[:, : round(share * SIZE)]) * STD * scale
    return theta


def distances(*runs):
    return measure.distance_table(runs, {1: reference()}, measuring(1))


@EACH_SCALE
def test_lost_runs_of_the_sbibm_part_have_no_distance_and_never_win(scale):
    frame = distances(run(normal(3) + 0.5), run(exploded(scale), "BAD"))
    bad = frame[frame.method == "BAD"]
    np.testing.assert_allclose(bad.lost_share, 0.1)
    assert bad[["sw", "mmd", "c2st"]].isna().all(axis=None)
    assert not bad[["mmd_valid", "c2st_valid"]].any(axis=None)
    ranks = rank_metrics({metric: by_method(frame, metric) for metric in ("sw", "mmd", "c2st")})
    for table in ranks.values():
        assert table.best.to_dict() == {("GOOD", 5): True, ("BAD", 5): False}
        assert not table.tied.any()


@pytest.mark.parametrize("scale", [11.0, np.nan])
def test_up_to_one_percent_of_lost_draws_are_left_out_of_the_distances(scale):
    whole, part = normal(1), exploded(scale, 0.01)
    frame = distances(run(part), run(whole[:, 1:], "FEWER"))
    first, second = (frame[frame.method == name] for name in ("GOOD", "FEWER"))
    np.testing.assert_allclose(first.lost_share, 0.01)
    np.testing.assert_array_equal(first[["sw", "mmd", "c2st"]], second[["sw", "mmd", "c2st"]])
    assert (first.samples == SIZE).all()


@pytest.mark.parametrize("size", [50, 2000])
def test_a_run_is_lost_or_not_whatever_the_number_of_draws(size):
    theta = normal(1, size=size)
    theta[:, :: round(1 / 0.04)] = 1e61
    assert distances(run(theta)).sw.isna().all()


def test_wide_draws_within_the_prior_are_invalid_for_bounded_metrics_only():
    """Narrow posterior: 15 times as wide is still where the prior is, and C2ST is at a loss."""
    wide = measure.distance_table(
        [run(15 * normal(3) / 10, "WIDE"), run(normal(4) / 10 + 0.3)],
        {1: reference().assign(theta=reference().theta / 10)},
        measuring(1),
    )
    assert wide.mmd_valid.tolist() == [False] * SETS + [True] * SETS
    assert wide.c2st_valid.tolist() == [False] * SETS + [True] * SETS
    assert wide.mmd.notna().all()
    ranks = rank_metrics({metric: by_method(wide, metric) for metric in ("sw", "mmd", "c2st")})
    assert [table.best[("WIDE", 5)] or table.tied[("WIDE", 5)] for table in ranks.values()] == [False] * 3
    assert ranks["mmd"].invalid[("WIDE", 5)] == SETS
    assert comparable(wide)[["mmd", "c2st"]].isna().sum().tolist() == [SETS, SETS]


def test_a_starved_classifier_has_no_valid_c2st_and_names_no_winner():
    frame = distances(run(normal(3)[:, : 15 * M - 1]), run(normal(4)[:, : 15 * M - 1], "OTHER"))
    assert frame.mmd_valid.all()
    assert not frame.c2st_valid.any()
    paper = pd.DataFrame(columns=["metric", "task", "method"])
    data = {"metrics": frame.assign(n=8), "paper": paper}
    table = metric_summary.make(data, SETTINGS)
    best = table.shown.set_index("metric")["best, all sets"]
    assert best["C2ST"] == "none: all lost, blown up or invalid"
    assert best["MMD²"] != best["C2ST"]
    assert "With invalid comparisons: C2ST: slcp." in table.note


@EACH_SCALE
def test_lost_runs_of_the_toy_part_have_no_distance(scale):
    settings = ToyMeasureSettings(seed=1, projections=10, self_distances=2, samples=SIZE, n_obs=(1,))
    runs = [run(theta, axis="seed", noise=0.0) for theta in (exploded(scale), normal(1))]
    frame = measure_toy.distance_table(runs, reference("seed"), settings)
    assert frame.filter(regex="^(max_)?sw(_norm)?$").isna().all(axis=1).tolist() == [True] * 3 + [False] * 3
    np.testing.assert_allclose(frame.lost_share, [0.1] * 3 + [0.0] * 3)


@EACH_SCALE
def test_lost_runs_have_no_distance_to_the_true_parameter_and_no_local_test(scale):
    names = ["a", "b"]
    settings = DiracSettings({"a": 0.0, "b": 0.0}, {"a": (-1.0, 1.0), "b": (-1.0, 1.0)})
    bad, good = (run(theta).assign_coords(parameter=names) for theta in (exploded(scale), normal(1)))
    frame = dirac_table([bad.isel(set=[0]), good.isel(set=[0])], settings)
    assert frame[["published", "mmd"]].isna().all(axis=1).tolist() == [True] * 3 + [False] * 3
    pairs = xr.Dataset(
        {"theta": (("set", "parameter"), normal(5)[0]), "x": (("set", "o", "d"), normal(6)[0][:, None])}
    )
    drawn = run(normal(7)[0][:, None])
    test = CalibrationTestSettings(1, classifiers=1, permutations=1, normalise=False)
    observed = xr.Dataset({"x": (("set", "o", "d"), normal(8)[0][None, :1])})
    table = lc2st_table(pairs, drawn, observed, bad.isel(set=[0]), test, None)
    assert table[["statistic", "p_value"]].isna().all(axis=None)
    most = drawn.assign(theta=drawn.theta.where(drawn.set < 40, STD * scale))
    table = lc2st_table(pairs, most, observed, good.isel(set=[0]), test, None)
    assert table.statistic.isna().all()
    np.testing.assert_allclose(table.lost_share, 0.6)


def test_a_prior_per_seed_judges_the_draws_of_its_own_seed():
    data = run(np.full((2, 5, 2), 30.0), axis="seed")
    data = data.assign(prior_mean=(("seed", "parameter"), [[0.0, 0.0], [25.0, 25.0]]))
    data = data.assign(prior_std=(("seed", "parameter"), [[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(usable(data), [[[False] * 5, [True] * 5]])


@pytest.mark.parametrize("name", ["lotka_volterra", "slcp", "gaussian_linear"])
def test_draws_of_the_prior_are_not_lost(name):
    prior = load(name).prior
    draws = prior.sample(20000, torch.Generator().manual_seed(1)).double()
    mean, std = prior.moments()
    np.testing.assert_allclose(draws.mean(0), mean[0], atol=5 * float(std.max()) / np.sqrt(20000))
    np.testing.assert_allclose(draws.std(0), std[0], rtol=0.1)
    assert usable_draws(draws.numpy(), mean.numpy(), std.numpy()).mean() > 0.998

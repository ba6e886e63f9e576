"""The jrnmm part with one method and tiny sizes, run for real from simulation to figures."""

from __future__ import annotations

import pandas as pd
import pytest
import xarray as xr

from study import Study, clone, setting

pytestmark = pytest.mark.dag

SIZES = """
simulations: 64
epochs: 3
observations: 3
n_obs: [1, 2]
samples: 20
max_steps: 5
batches: 2
training: {learning_rates: [0.0001]}
lc2st: {calibration: 12, permutations: 2, cov_samples: 10, classifiers: 2}
"""
METHODS = """
GAUSS: {cov_samples: 20, cov_steps: 5}
JAC: {parts: [toy]}
LANGEVIN: {parts: [toy]}
DET_GEF: {parts: [toy]}
"""
CONFIG = ("--config", setting("jrnmm", SIZES), setting("methods", METHODS), "run=smoke")
FOLDER = "results/smoke/jrnmm"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    study = clone(tmp_path_factory.mktemp("jrnmm") / "study")
    study.run("jrnmm", *CONFIG)
    return study


def test_second_run_has_nothing_to_do(finished):
    assert finished.planned("jrnmm", *CONFIG) == {}


def test_both_settings_are_there_and_the_gain_is_free_in_one(finished):
    for dim, names in ((3, ["C", "mu", "sigma"]), (4, ["C", "mu", "sigma", "g"])):
        simulations = xr.load_dataset(finished.root / f"{FOLDER}/{dim}d/simulations.nc")
        assert simulations.parameter.values.tolist() == names
        assert simulations.x.shape == (64, 33)
        single = xr.load_dataset(finished.root / f"{FOLDER}/{dim}d/n_train~64/single/GAUSS/batch~1-of-1.nc")
        assert single.theta.shape == (1, 3, 20, dim)


def test_every_method_has_its_distances_and_its_test(finished):
    dirac = pd.read_csv(finished.root / f"{FOLDER}/dirac.csv")
    assert len(dirac) == 2 * 2 * (4 + 5)  # plain and clipped, two n, parameters and their average
    assert (dirac[dirac.lost_share == 0].mmd >= 0).all()
    lc2st = pd.read_csv(finished.root / f"{FOLDER}/lc2st.csv")
    assert len(lc2st) == 2 * 2 * 2 * 2
    assert set(lc2st.method) == {"GAUSS", "GAUSS-clip"}
    tested = lc2st[lc2st.method == "GAUSS-clip"]
    assert tested.p_value.between(0, 1).all()


def test_change_of_the_simulator_reruns_simulations_and_training(finished):
    model = "src/tallsbi/study/tasks/jrnmm/model.py"
    with finished.restored(model):
        finished.add_code(model)
        jobs = finished.planned("jrnmm", *CONFIG)
    assert {"simulate", "observe", "train"} <= set(jobs)


def test_change_of_the_test_settings_leaves_training_and_samples_alone(finished):
    more = setting("jrnmm", SIZES.replace("permutations: 2", "permutations: 3"))
    jobs = finished.planned("jrnmm", "--config", more, *CONFIG[2:])
    assert set(jobs) == {"test_calibration", "collect", "draw_jrnmm_lc2st_3d", "draw_jrnmm_lc2st_4d"}

"""The reference posteriors as the study stores them, and their agreement with those that sbibm ships."""

import numpy as np
import pytest
import scipy.stats
from settings import silent

from tallsbi.storage.files import read_dataset, write_dataset
from tallsbi.study.references import agreement
from tallsbi.study.references.agreement import _shipped, check_against_sbibm
from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks import load

SETTINGS = ChainSettings(
    chains=8, warmup=150, draws=500, max_rhat=1.01, min_ess=1000, retries=1, target_accept=0.9
)


def simulate(name, n, sets=3):
    task = load(name)
    theta = task.theta_star(25)[:sets].astype(float)
    return task, task.observe(theta, n, lambda b: np.random.default_rng([5, b]))


def test_a_set_does_not_depend_on_the_others():
    """Its stream is named by its number: alone it gets the same draws as among others."""
    task, x = simulate("two_moons", 4)
    joint = reference_posterior(task, x, 4, 100, SETTINGS, 1, silent)
    alone = reference_posterior(task, x[2:], 4, 100, SETTINGS, 1, silent, first_set=2)
    np.testing.assert_array_equal(joint.theta.sel(set=[2]), alone.theta)
    assert not np.array_equal(joint.theta.sel(set=0), joint.theta.sel(set=1))
    other = reference_posterior(task, x, 4, 100, SETTINGS, 2, silent)
    assert not np.array_equal(joint.theta, other.theta)


@pytest.mark.parametrize("name", ["two_moons", "gmm", "gaussian_linear"])
def test_further_observations_are_ignored(name):
    """All N observations with n < N give what the first n alone give."""
    task, x = simulate(name, 6)
    whole = reference_posterior(task, x, 2, 50, SETTINGS, 1, silent)
    short = reference_posterior(task, x[:, :2], 2, 50, SETTINGS, 1, silent)
    np.testing.assert_allclose(whole.theta, short.theta, rtol=1e-9)


def test_certificates_survive_the_file(tmp_path):
    task, x = simulate("two_moons", 2)
    data = reference_posterior(task, x, 2, 20, SETTINGS, 1, silent)
    assert data.theta.dims == ("set", "sample", "parameter")
    assert data.attrs["stream"] == "reference, two_moons, 2, set"
    write_dataset(data, tmp_path / "reference.nc")
    again = read_dataset(tmp_path / "reference.nc")
    assert again.equals(data)
    assert again["method"].values.tolist() == ["grid"] * 3
    assert again.passed.dtype == bool
    assert all(f"setting_{key}" in again.attrs for key in SETTINGS.as_params())


def test_two_moons_at_thirty_observations_cover_the_truth():
    """12 sets, both coordinates: ranks of the truth uniform by Kolmogorov-Smirnov, level 1e-4 each.

    The posterior is symmetric under a change of sign of theta_1 + theta_2, so the ranks are taken in
    |theta_1 + theta_2| and theta_2 - theta_1.
    """
    task, x = simulate("two_moons", 30, 12)
    truth = task.theta_star(25)[:12].astype(float)
    data = reference_posterior(task, x, 30, 400, SETTINGS, 1, silent)
    assert bool(data.passed.all())
    for feature in (lambda v: np.abs(v.sum(-1)), lambda v: v[..., 1] - v[..., 0]):
        ranks = (feature(data.theta.values) < feature(truth)[:, None]).mean(1)
        assert scipy.stats.kstest(ranks, "uniform").pvalue > 1e-4


def test_missing_settings_are_named():
    given = {key: value for key, value in SETTINGS.as_params().items() if key not in ("draws", "retries")}
    with pytest.raises(ValueError, match=r"no value for draws, retries"):
        ChainSettings.from_params(given)


@pytest.mark.parametrize("n", [0, 3])
def test_more_observations_than_there_are(n):
    task, x = simulate("gmm", 2)
    with pytest.raises(ValueError, match=f"n = {n} observations asked for, x holds 2"):
        reference_posterior(task, x, n, 10, SETTINGS, 1, silent)


def test_agreement_with_shipped_posteriors():
    """Two Moons and SIR, two observations each. Between equal samples of 1000 C2ST scatters by 0.017 around 0.5:
    the mean of two above 0.55 is a false alarm of 2e-5."""
    for name in ("two_moons", "sir"):
        agreements = check_against_sbibm(name, (1, 6), settings=SETTINGS, progress=silent)
        assert [agreement.observation for agreement in agreements] == [1, 6]
        assert all(agreement.certified for agreement in agreements)
        assert np.mean([agreement.c2st for agreement in agreements]) < 0.55
        assert max(agreement.ks for agreement in agreements) < 0.11  # level 1e-5 for 1000 against 1000 draws


def test_a_wrong_posterior_would_be_noticed(monkeypatch):
    """The shipped draws of another observation instead of the right ones."""

    def swapped(name, number, task):
        return _shipped(name, number, task)[0], _shipped(name, 7 - number, task)[1]

    monkeypatch.setattr(agreement, "_shipped", swapped)
    compared = check_against_sbibm("two_moons", (1, 6), settings=SETTINGS, progress=silent)
    assert min(result.c2st for result in compared) > 0.9


def test_tasks_that_sbibm_does_not_ship_are_refused():
    with pytest.raises(ValueError, match="ships no reference posterior"):
        _shipped("gmm", 1, load("gmm"))

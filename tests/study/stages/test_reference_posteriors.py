"""Reference posteriors as they are published: draws, certificates and observations in one dataset."""

import numpy as np
import pytest
from settings import silent

from tallsbi.storage.files import read_dataset, write_dataset
from tallsbi.study.references.certificate import unpack
from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.base import SettingsError
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.time import ManySettings
from tallsbi.study.stages.posteriors import reference_posteriors
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tasks import load

CHAINS = ChainSettings(
    chains=4, warmup=100, draws=200, target_accept=0.9, max_rhat=1.01, min_ess=100.0, retries=0
)


def settings(task, **changed):
    sizes = {"sets": 2, "n_obs": (1, 8), "samples": 30}
    return ManySettings(seed=3, problem=ProblemSettings(task), chains=CHAINS, **(sizes | changed))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Of each way to make a reference, read back from the file."""
    folder = tmp_path_factory.mktemp("posteriors")
    for task in ("gaussian_linear", "two_moons", "gmm", "slcp"):
        write_dataset(reference_posteriors(settings(task), silent), folder / f"{task}.nc")
    return {path.stem: read_dataset(path) for path in folder.glob("*.nc")}


@pytest.mark.parametrize("name", ["gaussian_linear", "two_moons", "gmm", "slcp"])
def test_draws_and_observations_are_those_of_the_study(published, name):
    task, data = load(name), published[name]
    observed = observations(task, 2, 20, 3)
    np.testing.assert_array_equal(data["x"], observed["x"].values[:, :8].astype(np.float32))
    np.testing.assert_array_equal(data["true_theta"], observed["theta"])
    for n in (1, 8):
        theta = reference_posterior(task, observed["x"].values[:, :8], n, 30, CHAINS, 3, silent)["theta"]
        np.testing.assert_array_equal(data["theta"].sel(n=n), theta.values.astype(np.float32))
    assert data["theta"].dims == ("set", "n", "sample", "parameter")
    assert data.attrs["task"] == name


@pytest.mark.parametrize("name", ["gaussian_linear", "two_moons", "gmm", "slcp"])
def test_each_posterior_has_its_certificate(published, name):
    for index in (0, 1):
        for n in (1, 8):
            cell = published[name].sel(set=index, n=n)
            certificate = unpack(cell)
            assert certificate.passed == bool(cell["passed"])
            assert certificate.failed == tuple(str(cell["failed"].item()).split())
    if name == "slcp":
        assert {check.name for check in certificate.checks} >= {"rhat", "efmi", "autocorrelation"}
        assert published[name]["rhat"].attrs["at_most"] == CHAINS.max_rhat
        assert len(certificate.checks[0].values) == 5


def test_a_number_of_observations_is_positive():
    with pytest.raises(SettingsError, match=r"n_obs = \(0, 8\): it must be numbers of at least 1"):
        settings("sir", n_obs=(0, 8))

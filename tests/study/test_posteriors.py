"""The reference posteriors that come with the repository: readable, certified, and those of the study."""

import numpy as np
import pytest
from config_files import ROOT, resolved

from tallsbi.storage.files import DataError
from tallsbi.study import posteriors
from tallsbi.study.parts.study import Study
from tallsbi.study.references.certificate import unpack
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tasks import load

SBIBM = Study(resolved(scale=posteriors.RUN)).sbibm
TASKS = SBIBM.paper_tasks


@pytest.mark.parametrize("name", TASKS)
def test_a_file_has_what_the_configuration_says(name):
    data, settings = posteriors.load(name), SBIBM.observe_many(name, "posteriors")
    assert data["theta"].shape == (
        settings.sets, len(settings.n_obs), settings.samples, load(name).dim_theta
    )  # fmt: skip
    assert tuple(data["n"].values) == settings.n_obs
    observed = observations(load(name), settings.sets, max(settings.n_obs), settings.seed)
    np.testing.assert_allclose(data["x"], observed["x"].astype(np.float32), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(data["true_theta"], observed["theta"])


@pytest.mark.parametrize("name", TASKS)
def test_every_posterior_is_certified(name):
    data = posteriors.load(name)
    cells = [unpack(data.sel(set=index, n=n)) for index in data["set"].values for n in data["n"].values]
    assert [certificate.failed for certificate in cells] == [()] * len(cells)
    if cells[0].method == "NUTS":
        numbers = [certificate.numbers() for certificate in cells]
        assert max(number["rhat"] for number in numbers) < 1.01
        assert max(number["divergences"] for number in numbers) == 0
        assert max(number["autocorrelation"] for number in numbers) < 0.05
        assert min(number["efmi"] for number in numbers) > 0.2


@pytest.mark.parametrize("name", TASKS)
def test_draws_agree_with_the_exact_moments_or_lie_in_the_prior(name):
    task, data = load(name), posteriors.load(name)
    theta = data["theta"].values
    assert np.isfinite(theta).all()
    if (box := task.prior.support()) is not None:
        low, high = (bound.numpy() for bound in box)
        assert ((theta >= low - 1e-4) & (theta <= high + 1e-4)).all()
    for index in data["set"].values:
        for n in data["n"].values:
            exact = task.closed_form(data["x"].sel(set=index).values[:n].astype(float))
            if exact is not None:
                mean, cov = exact
                draws = data["theta"].sel(set=index, n=n).values
                error = (draws.mean(0) - mean) / np.sqrt(np.diag(cov) / len(draws))
                assert np.abs(error).max() < 5


def test_all_files_together_are_small():
    folder = ROOT / "results" / posteriors.RUN / "posteriors"
    assert sum(path.stat().st_size for path in folder.glob("*.nc")) < 15e6


def test_a_task_without_a_file_is_named_with_those_that_have_one(tmp_path):
    with pytest.raises(DataError, match=r"no posteriors of 'no_task'.*there are bernoulli_glm, "):
        posteriors.load("no_task")
    with pytest.raises(DataError, match=r"there are none; `make results SCALE=smoke ARGS=posteriors`"):
        posteriors.load("slcp", "smoke", tmp_path)

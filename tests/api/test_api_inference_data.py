"""ArviZ reads the draws, under both of its formats."""

from pathlib import Path

import pytest
from api_models import datasets, exact_posterior
from arviz_versions import EACH_VERSION, run_with

PROGRAM = """
import warnings
import torch
import xarray as xr
from api_models import datasets, exact_posterior

warnings.simplefilter("error", FutureWarning)  # such is the warning of the name InferenceData since 1.1
posterior, x = exact_posterior(), datasets(1, 3)[0]
data = posterior.inference_data(x, 200, names=["a", "b"], seed=3)
old = arviz.__version__.startswith("0.")
assert type(data) is (arviz.InferenceData if old else xr.DataTree), type(data)
assert set(data.groups() if old else data.children) == {"posterior", "observed_data"}
theta = posterior.sample(x, 200, seed=3)
assert dict(data["posterior"].sizes) == {"chain": 1, "draw": 200}
assert torch.equal(torch.from_numpy(data["posterior"]["b"].values[0]), theta[:, 1])
assert (data["observed_data"]["x"].values == x.numpy()).all()
assert data["posterior"].attrs["method"] == "AUTO"
summary = arviz.summary(data, round_to="none")
assert abs(float(summary.loc["a", "mean"]) - theta[:, 0].mean().item()) < 1e-6
# Independent draws: the effective sample size is about their number.
assert float(summary.loc["a", "ess_bulk"]) > 100
several = exact_posterior().inference_data(datasets(4, 3), 20)
assert several["posterior"]["theta_1"].dims == ("chain", "draw", "dataset")
"""


@EACH_VERSION
def test_both_versions_of_arviz_read_the_draws(arviz_version, pytestconfig):
    run_with(arviz_version, PROGRAM, pytestconfig, Path(__file__).parent)


def test_several_datasets():
    posterior, x = exact_posterior(), datasets(4, 3)
    data = posterior.inference_data(x, 20)
    assert data["posterior"]["theta_1"].dims == ("chain", "draw", "dataset")
    theta = posterior.sample(x, 20)
    assert data["posterior"]["theta_1"].sel(dataset=2, chain=0).values == pytest.approx(
        theta[2, :, 1].numpy()
    )
    assert data["observed_data"]["x"].dims == ("dataset", "observation", "coordinate")


def test_names_must_be_one_per_coordinate():
    for names in (["a"], ["a", "a"]):
        with pytest.raises(ValueError, match="give 2 different names"):
            exact_posterior().inference_data(datasets(1, 3)[0], 20, names=names)

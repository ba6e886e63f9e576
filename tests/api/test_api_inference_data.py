"""ArviZ reads the draws, under both of its formats."""

import arviz
import pytest
import torch
import xarray as xr
from api_models import datasets, exact_posterior


def test_one_dataset():
    posterior, x = exact_posterior(), datasets(1, 3)[0]
    data = posterior.inference_data(x, 200, names=["a", "b"], seed=3)
    assert isinstance(data, arviz.InferenceData)
    theta = posterior.sample(x, 200, seed=3)
    assert dict(data.posterior.sizes) == {"chain": 1, "draw": 200}
    assert torch.equal(torch.from_numpy(data.posterior["b"].values[0]), theta[:, 1])
    assert data.observed_data["x"].values == pytest.approx(x.numpy())
    assert data.posterior.attrs["method"] == "GAUSS_PD"
    summary = arviz.summary(data, round_to="none")
    assert summary.loc["a", "mean"] == pytest.approx(theta[:, 0].mean().item())
    # Independent draws: the effective sample size is about their number.
    assert summary.loc["a", "ess_bulk"] > 100


def test_several_datasets():
    posterior, x = exact_posterior(), datasets(4, 3)
    data = posterior.inference_data(x, 20)
    assert data.posterior["theta_1"].dims == ("chain", "draw", "dataset")
    theta = posterior.sample(x, 20)
    assert data.posterior["theta_1"].sel(dataset=2, chain=0).values == pytest.approx(theta[2, :, 1].numpy())
    assert data.observed_data["x"].dims == ("dataset", "observation", "coordinate")


def test_the_newer_format(monkeypatch):
    monkeypatch.delattr(arviz, "InferenceData")
    data = exact_posterior().inference_data(datasets(1, 3)[0], 20)
    assert isinstance(data, xr.DataTree)
    assert data["posterior"]["theta_0"].dims == ("chain", "draw")


def test_names_must_be_one_per_coordinate():
    for names in (["a"], ["a", "a"]):
        with pytest.raises(ValueError, match="give 2 different names"):
            exact_posterior().inference_data(datasets(1, 3)[0], 20, names=names)

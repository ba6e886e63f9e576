"""A saved posterior gives the same draws; a damaged or foreign one is refused with a reason."""

from dataclasses import replace

import pytest
import torch
from api_models import datasets, quick_fit, simulator
from oracles import generator
from torch import distributions as td

from tallsbi import TallPosterior
from tallsbi.algorithms import build
from tallsbi.api.priors import as_prior
from tallsbi.priors.base import UnsupportedPrior
from tallsbi.storage.files import DataError
from tallsbi.storage.tensors import read_tensors, write_tensors

PRIORS = {
    "gaussian": td.MultivariateNormal(torch.tensor([1.0, -2.0]), torch.diag(torch.tensor([4.0, 1.0]))),
    "uniform": td.Uniform(torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 3.0])),
    "lognormal": td.LogNormal(torch.zeros(2), torch.ones(2)),
    "exponential": td.Exponential(torch.ones(2)),
}


@pytest.fixture(scope="module")
def posterior():
    return quick_fit()


@pytest.mark.parametrize("prior", PRIORS)
def test_the_same_draws_after_saving(prior, tmp_path):
    posterior = TallPosterior.fit(
        PRIORS[prior], simulator, simulations=200, epochs=2, hidden=(8,), early_stopping=False
    )
    posterior.save(tmp_path / "deep" / "folder")
    again = TallPosterior.load(tmp_path / "deep" / "folder")
    x = datasets(2, 3)
    for method in ("GAUSS_PD", "DET_GEF"):
        settings = {"steps": 10}
        assert torch.equal(
            posterior.sample(x, 20, method, settings=settings), again.sample(x, 20, method, settings=settings)
        )
    assert again.training_range.farthest == posterior.training_range.farthest
    assert torch.equal(again.training_range.distances(x), posterior.training_range.distances(x))


def test_the_settings_of_the_engine_are_saved_too(tmp_path):
    """The bounds of a uniform prior, the precision and the learned prior decide the draws."""
    posterior = TallPosterior.fit(
        PRIORS["uniform"], simulator, simulations=200, epochs=2, hidden=(8,), early_stopping=False
    )
    covariance = torch.tensor([[0.3, 0.1], [0.1, 0.2]], dtype=torch.float64)
    engine = replace(posterior.engine, bounds_factor=2.0, dtype=torch.float64, learned_covariance=covariance)
    replace(posterior, engine=engine).save(tmp_path)
    again = TallPosterior.load(tmp_path).engine
    assert (again.bounds_factor, again.dtype) == (2.0, torch.float64)
    assert torch.equal(again.learned_covariance, covariance)
    original, x = replace(engine, learned_covariance=None), datasets(1, 3)
    read = replace(again, learned_covariance=None)
    draws = [
        kept.sample(build("GAUSS", {"steps": 5}), x, 9, [generator(1)]).theta for kept in (original, read)
    ]
    assert torch.equal(*draws)


def test_a_file_of_the_first_version_has_the_defaults(posterior, tmp_path):
    posterior.save(tmp_path)
    tensors, header = read_tensors(tmp_path / "posterior.safetensors")
    old = {key: value for key, value in header.items() if key not in ("bounds_factor", "dtype")}
    write_tensors(tensors, old, tmp_path / "posterior.safetensors")
    again = TallPosterior.load(tmp_path).engine
    assert (again.bounds_factor, again.dtype, again.learned_covariance) == (1.0, torch.float32, None)


def test_a_prior_without_a_form_on_disk_is_named_and_nothing_is_written(posterior, tmp_path):
    class Shift(td.ExpTransform):
        pass

    prior = as_prior(td.TransformedDistribution(td.Normal(torch.zeros(2), torch.ones(2)), Shift()))
    with pytest.raises(UnsupportedPrior, match="Shift has no form on disk"):
        replace(posterior, engine=replace(posterior.engine, prior=prior)).save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_saving_twice_gives_the_same_bytes(posterior, tmp_path):
    for name in ("a", "b"):
        posterior.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == ["network.json", "network.safetensors", "posterior.safetensors"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_place_without_a_posterior_is_refused(posterior, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no posterior.safetensors and no network.safetensors"):
        TallPosterior.load(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError, match="is a file; give the name of a folder"):
        posterior.save(tmp_path / "file")


@pytest.mark.parametrize("name", ["network.safetensors", "posterior.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "flip", "text"])
def test_damage_is_noticed(posterior, tmp_path, name, damage):
    posterior.save(tmp_path)
    path = tmp_path / name
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content[4] ^= 0xFF  # in the length of the header
    else:
        content = bytearray(b"not a file of this kind")
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"cannot load .*damaged.*; save the posterior again"):
        TallPosterior.load(tmp_path)


def test_files_of_two_posteriors_are_not_mixed(posterior, tmp_path):
    posterior.save(tmp_path / "a")
    quick_fit(seed=9).save(tmp_path / "b")
    (tmp_path / "a" / "network.safetensors").write_bytes(
        (tmp_path / "b" / "network.safetensors").read_bytes()
    )
    with pytest.raises(DataError, match="damaged or belongs to another posterior"):
        TallPosterior.load(tmp_path / "a")


@pytest.mark.parametrize("header", [{"format": "something else"}, {"format": "tallsbi posterior 1"}, ["a"]])
def test_foreign_content_is_refused(posterior, tmp_path, header):
    posterior.save(tmp_path)
    write_tensors({"mean": torch.zeros(2)}, header, tmp_path / "posterior.safetensors")
    with pytest.raises(DataError, match="cannot load"):
        TallPosterior.load(tmp_path)

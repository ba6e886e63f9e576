"""Cells of the toy study: settings, random streams and the packed result."""

import numpy as np
import pytest
from settings import methods, toy_cell

from tallsbi.study.settings.sample import Methods
from tallsbi.study.settings.toy import ToySampleSettings, ToyTimeSettings
from tallsbi.study.stages.protocol import hardware
from tallsbi.study.stages.time_toy import time_methods
from tallsbi.study.stages.toy import ToyEngine, sample_toy

SHARED = {"eta": {"50": 0.2, "400": 0.8}, "eta_default": 0.5, "clip": 2.5, "switch_over": 0.25}


def sampling(name, options, **changes):
    given = {
        "seed": 1,
        "cell": toy_cell("gaussian-standard", 2),
        "device": "cpu",
        "dtype": "float64",
        "noise": 0.0,
        "name": name,
        "steps": 20,
        "methods": methods(**{name: options}),
        "samples": 10,
        "n_obs": (4,),
    }
    return ToySampleSettings(**{**given, **changes})


def timing(steps, **changes):
    given = {
        "seed": 1,
        "cell": toy_cell("gaussian-wide", 2, seeds=1),
        "device": "cpu",
        "dtype": "float32",
        "noise": 0.01,
        "samples": 5,
        "steps": steps,
    }
    return ToyTimeSettings(**given, **changes)


def test_shared_settings_reach_the_algorithms_that_take_them():
    chosen = Methods({"JAC": {"steps": 50}, "LANGEVIN": {"steps": 50, "tau": 0.1}}, **SHARED)
    jac = chosen.algorithm("JAC")
    assert (jac.churn, jac.switch_over, jac.clip) == (0.2, 0.25, None)
    clipped = chosen.algorithm("JAC-clip", steps=60)
    assert (clipped.churn, clipped.clip) == (0.5, 2.5)
    assert chosen.algorithm("LANGEVIN").tau == 0.1


@pytest.mark.parametrize("name", ["JAC", "GAUSS", "LANGEVIN"])
def test_noise_levels_share_their_random_numbers(name):
    """A tiny perturbation moves the draws a little; another seed moves them a lot."""
    options = {"cov_samples": 50, "cov_steps": 10} if name == "GAUSS" else {}
    exact, close, other = (
        sample_toy(sampling(name, options, noise=noise, seed=seed)).theta.values
        for noise, seed in ((0.0, 1), (1e-9, 1), (0.0, 2))
    )
    np.testing.assert_allclose(exact, close, rtol=0, atol=1e-6)
    assert np.abs(exact - other).max() > 1e-2


def test_cells_are_packed_with_their_health():
    cell = toy_cell("mixture", 3)
    data = sample_toy(
        sampling("JAC", {}, cell=cell, noise=0.1, dtype="float32", steps=10, samples=20, n_obs=(2, 4))
    )
    assert data.theta.dims == ("n", "seed", "sample", "parameter")
    assert data.theta.shape == (2, 2, 20, 3)
    assert data.theta.dtype == np.float32
    for name in ("lost_definiteness", "lost_definiteness_time", "nonfinite", "nonfinite_time"):
        assert data[name].dims == ("n", "seed")
    assert (data.attrs["method"], data.attrs["steps"], data.attrs["score_evaluations"]) == ("JAC", 10, 10)


def test_every_cell_is_timed_in_every_round():
    chosen = methods(JAC={}, LANGEVIN={"inner_steps": 2})
    frame = time_methods(timing((3, 6), methods=chosen, n_obs=(2, 3), repeats=2))
    assert not frame.duplicated(["n", "steps", "method", "round"]).any()
    assert len(frame) == 2 * 2 * 2 * 2
    assert set(frame["round"]) == {1, 2}
    assert (frame.seconds > 0).all()
    (name,) = set(frame.hardware)
    assert name.startswith("one thread of ")
    assert name == hardware("cpu")


def test_hardware_is_the_model_of_the_processor_or_what_the_platform_knows(monkeypatch):
    lines = "processor : 0\nmodel name\t: Made-up  CPU @ 3 GHz\nmodel : 1\n"
    for text, name in ((lines, "Made-up CPU @ 3 GHz"), ("Hardware : board\n", "mips")):
        monkeypatch.setattr("pathlib.Path.read_text", lambda path, text=text: text)
        monkeypatch.setattr("platform.processor", lambda: "")
        monkeypatch.setattr("platform.machine", lambda: "mips")
        assert hardware("cpu") == f"one thread of {name}"
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: f"card of {device}")
    assert hardware("cuda") == "card of cuda"


def test_timed_runs_have_as_many_draws_for_a_covariance_as_samples(monkeypatch):
    """The paper's ratio: with 200 draws for 5 samples, the time would be that of the covariances alone."""
    cov_samples = []
    sample = ToyEngine.sample

    def watched(engine, algorithm, *rest):
        cov_samples.append(getattr(algorithm, "cov_samples", None))
        return sample(engine, algorithm, *rest)

    monkeypatch.setattr(ToyEngine, "sample", watched)
    chosen = methods(JAC={}, GAUSS={"covariances": "published", "cov_samples": 200, "cov_steps": 2})
    time_methods(timing((3,), methods=chosen, n_obs=(2,), repeats=1))
    assert set(cov_samples) == {None, 5}

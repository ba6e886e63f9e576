"""Cells of the toy study: settings, random streams and the packed result."""

import numpy as np
import pytest
import torch

from tallsbi.study.stages.toy_sampling import configured, run, sample_cells
from tallsbi.study.tasks.toy import make_toy

TOY_SETTINGS = {
    "correlation": 0.8,
    "wide_prior": {"mean": 10.0, "std": [0.1, 25.1]},
    "mixture": {"scales": [2.25, 1 / 9], "spread": [0.6, 1.4]},
    "seeds": 2,
    "samples": 20,
}
COMMON = {"ddim": {"eta": {"50": 0.2, "400": 0.8}, "eta_default": 0.5}, "switch_over": 0.25, "clip": 2.5}


def test_shared_settings_reach_the_algorithms_that_take_them():
    jac = configured("JAC", {"steps": 50}, COMMON)
    assert (jac.churn, jac.switch_over, jac.clip) == (0.2, 0.25, None)
    assert configured("JAC-clip", {"steps": 60}, COMMON).churn == 0.5
    assert configured("JAC-clip", {"steps": 60}, COMMON).clip == 2.5
    assert configured("LANGEVIN", {"steps": 50, "tau": 0.1}, COMMON).tau == 0.1


@pytest.mark.parametrize("name", ["JAC", "GAUSS", "LANGEVIN"])
def test_noise_levels_share_their_random_numbers(name):
    """A tiny perturbation moves the draws a little; another seed moves them a lot."""
    toy = make_toy("gaussian-standard", 2, 2, 4, TOY_SETTINGS, 1)
    method = {"steps": 20, **({"cov_samples": 50, "cov_steps": 10} if name == "GAUSS" else {})}
    algorithm = configured(name, method, COMMON)
    exact, close, other = (
        run(toy, algorithm, name, 4, eps, 10, seed, "float64", "cpu").theta
        for eps, seed in ((0.0, 1), (1e-9, 1), (0.0, 2))
    )
    torch.testing.assert_close(exact, close, rtol=0, atol=1e-6)
    assert float((exact - other).abs().max()) > 1e-2


def test_cells_are_packed_with_their_health():
    settings = {
        **COMMON,
        "toy": TOY_SETTINGS,
        "seed": 1,
        "method": {"steps": 10},
        "dtype": "float32",
        "device": "cpu",
    }
    data = sample_cells("mixture", 3, 0.1, "JAC", [2, 4], settings)
    assert data.theta.dims == ("n", "seed", "sample", "parameter")
    assert data.theta.shape == (2, 2, 20, 3)
    assert data.theta.dtype == np.float32
    for name in ("lost_definiteness", "lost_definiteness_time", "nonfinite", "nonfinite_time"):
        assert data[name].dims == ("n", "seed")
    assert (data.attrs["method"], data.attrs["steps"], data.attrs["score_evaluations"]) == ("JAC", 10, 10)

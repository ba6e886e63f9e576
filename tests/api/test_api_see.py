"""See it: plots, posterior predictive checks, TARP, chains, readable objects."""

import matplotlib
import numpy as np
import pytest
import torch
from api_models import PRIOR, datasets, exact_posterior, quick_fit, simulator
from torch.distributions import Normal

from tallsbi import TallPosterior
from tallsbi.metrics.tarp import credibilities, uniformity

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture
def figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def diagnosis():
    return exact_posterior().diagnose(simulator, 2, datasets=60, n_samples=20, settings={"cov_samples": 50})


def test_the_pair_plot_shows_intervals_truth_and_names(figures):
    posterior, x = exact_posterior(), datasets(1, 3)[0]
    draws = posterior.sample(x, 300)
    figure = posterior.plot(draws, truth=[1.0, -2.0], reference=draws + 0.1, names=["rate", "delay"])
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 3
    labels = {axes.get_xlabel() for axes in panels} | {axes.get_ylabel() for axes in panels}
    assert {"rate", "delay"} <= labels
    first = panels[0]
    low, high = draws[:, 0].quantile(torch.tensor([0.05, 0.95]).double())
    ends = [line.get_xdata() for line in first.lines if line.get_label() == "90 % interval"]
    np.testing.assert_allclose(ends, [[low, high]], rtol=1e-6)
    assert any(line.get_label() == "truth" and line.get_xdata()[0] == 1.0 for line in first.lines)
    figure.canvas.draw()


def test_plots_refuse_what_they_cannot_show(figures):
    posterior = exact_posterior()
    with pytest.raises(
        ValueError, match=r"draws has shape \(2, 5, 2\): give the draws of one dataset, \[S, 2\]"
    ):
        posterior.plot(torch.zeros(2, 5, 2))
    with pytest.raises(ValueError, match="truth has 3 numbers; the draws have 2 coordinates"):
        posterior.plot(torch.randn(9, 2), truth=[1, 2, 3])
    with pytest.raises(ValueError, match=r"names = .*: give 2 different names"):
        posterior.plot(torch.randn(9, 2), names=["a", "a"])
    posterior.plot(torch.ones(9, 2)).canvas.draw()  # no spread at all


def test_names_are_those_of_the_prior(figures):
    posterior = TallPosterior.fit(
        {"rate": Normal(0.0, 1.0), "delay": Normal(0.0, 1.0)},
        lambda theta: theta,
        simulations=50,
        epochs=1,
        hidden=(4,),
    )
    assert posterior.names_of() == ["rate", "delay"]
    assert repr(posterior) == (
        "TallPosterior of 2 parameters (rate, delay) given observations of 2 numbers, network 4, trained on 45 "
        "simulations for 1 epochs"
    )
    assert posterior.plot(torch.randn(20, 2)).axes[-1].get_xlabel() == "delay"


def test_diagnosis_shows_ranks_and_tarp(diagnosis, figures):
    assert diagnosis.tarp.shape == (60,)
    assert 0.001 < diagnosis.tarp_p_value <= 1
    assert "TARP, all coordinates at once: p-value" in str(diagnosis)
    assert repr(diagnosis) == str(diagnosis)
    figure = diagnosis.plot()
    counts = sum(patch.get_height() for patch in figure.axes[0].patches if patch.get_width() > 1)
    assert counts >= 60
    figure.canvas.draw()


def test_tarp_sees_what_single_ranks_do_not():
    """Draws with the right marginals and the wrong correlation."""
    stream = torch.Generator().manual_seed(0)
    root = torch.linalg.cholesky(torch.tensor([[1.0, 0.95], [0.95, 1.0]]).double())
    theta = torch.randn(300, 2, generator=stream, dtype=torch.float64) @ root.mT
    noise = torch.randn(300, 100, 2, generator=stream, dtype=torch.float64)
    assert uniformity(credibilities(theta, noise @ root.mT, stream)) > 0.01
    ranks = (noise < theta[:, None]).double().mean(1)
    assert min(uniformity(ranks[:, i].numpy()) for i in range(2)) > 0.001
    assert uniformity(credibilities(theta, noise @ root.mT * torch.tensor([1.0, -1.0]), stream)) < 1e-4
    assert uniformity(credibilities(theta, 0.5 * noise @ root.mT, stream)) < 1e-4


def test_the_predictive_check_tells_wrong_data_from_right(figures):
    posterior, x = exact_posterior(), datasets(1, 8)[0]
    good = posterior.predict(simulator, x, n_samples=60)
    assert good.simulated.shape == (60, 8, 2)
    assert good.plausible
    assert "posterior predictive check, n = 8, 60 simulated datasets" in str(good)
    assert repr(good) == str(good)
    good.plot().canvas.draw()
    # Data with ten times the noise: no parameter explains them.
    wide = x.mean(0) + 10 * (x - x.mean(0))
    draws = posterior.sample(x, 60)
    bad = posterior.predict(simulator, wide, draws)
    assert bad.p_value < 0.05
    assert "do NOT look like the data" in str(bad)
    assert bad.names[int(bad.p_values.argmin())].startswith("sd of x[")
    assert torch.equal(bad.theta, draws)
    with pytest.raises(ValueError, match=r"draws has shape \(8, 1\): give those of one dataset"):
        posterior.predict(simulator, x, x[:, :1])
    with pytest.raises(ValueError, match="one dataset of n = 8"):
        posterior.predict(simulator, x.expand(2, 8, 2))


def test_predictions_are_uniform_where_the_model_is_right():
    """Given the true parameter, the p-value of the check is uniform."""
    posterior = exact_posterior()
    x = datasets(40, 4)
    truth = PRIOR.sample(40, torch.Generator().manual_seed(1))
    p_values = [posterior.predict(simulator, x[i], truth[i].expand(39, 2), seed=i).p_value for i in range(40)]
    assert uniformity(np.array(p_values)) > 0.001


def test_predictions_use_conditions_and_shapes(figures):
    def dosed(theta, dose):
        return (theta[:, :1] * dose)[:, None] + torch.zeros(1, 6, 1)

    posterior = quick_fit(dosed, condition=[[1.0], [2.0]], epochs=1)
    doses = torch.tensor([[1.0], [2.0], [2.0]])
    draws = torch.tensor([[1.0, 0.0], [3.0, 0.0]])
    check = posterior.predict(dosed, (torch.ones(3, 6, 1), doses), draws)
    assert check.simulated[:, :, 0, 0].tolist() == [[1, 2, 2], [3, 6, 6]]
    check.plot().canvas.draw()
    assert "observations of shape (6, 1) and 1 known" in repr(posterior)


def test_draws_can_be_dealt_out_to_chains():
    posterior, x = exact_posterior(), datasets(2, 3)
    data = posterior.inference_data(x, 40, chains=4)
    assert data["posterior"]["theta_0"].shape == (4, 10, 2)
    draws = posterior.sample(x, 40)
    assert np.array_equal(data["posterior"]["theta_0"].values[1, 0], draws[:, 10, 0])
    with pytest.raises(ValueError, match="chains = 3: 40 draws cannot be dealt out evenly"):
        posterior.inference_data(x, 40, chains=3)


def test_matplotlib_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("tallsbi.api.extras.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs matplotlib.*pip install 'tallsbi\[plot\]'"):
        exact_posterior().plot(torch.randn(9, 2))

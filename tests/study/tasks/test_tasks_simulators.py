"""Simulators against sbibm's own and its shipped observations, and against the laws they must follow."""

import jax
import numpy as np
import pytest
import sbibm
import scipy.stats
import torch
from task_oracles import OBSERVATIONS, shipped, smallest_p_value

from tallsbi.study import tasks
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.tasks import bernoulli_glm, sir

SBIBM = ["slcp", "two_moons", "bernoulli_glm", "bernoulli_glm_raw"]


@pytest.mark.parametrize("name", SBIBM)
def test_simulator_has_the_law_of_sbibms(name):
    """2000 draws at each of three parameters, false alarms 1e-4 for each; a slightly wrong law is noticed."""
    task, count = tasks.load(name), 2000
    theirs = sbibm.get_task(name).get_simulator()
    with torch.random.fork_rng():
        torch.manual_seed(7)
        for theta in task.theta_star(3):
            expected = theirs(torch.from_numpy(np.repeat(theta[None], count, 0))).double().numpy()
            ours = task.simulate(np.repeat(theta[None], count, 0), np.random.default_rng(8))
            assert smallest_p_value(ours, expected) > 1e-4
    wrong = task.simulate(np.repeat(0.7 * theta[None], count, 0), np.random.default_rng(8))
    assert smallest_p_value(wrong, expected) < 1e-4


def test_design_matrix_and_precision_are_sbibms():
    theirs = sbibm.get_task("bernoulli_glm")
    design = torch.load(theirs.path / "files" / "design_matrix.pt", weights_only=True)
    np.testing.assert_array_equal(bernoulli_glm.design_matrix(), design.double().numpy())
    torch.testing.assert_close(
        bernoulli_glm.prior_precision(), theirs.prior_params["precision_matrix"], rtol=0, atol=0
    )


def test_two_moons_density_is_sbibms_up_to_the_jacobian_it_leaves_out():
    task, theirs = tasks.load("two_moons"), sbibm.get_task("two_moons")
    theta = task.theta_star(5)
    x = task.simulate(theta, np.random.default_rng(0))
    for row, point in zip(theta, x, strict=True):
        given = torch.from_numpy(point[None]).float()
        expected = float(theirs._likelihood(torch.from_numpy(row), given))
        shift = np.array([-abs(row.sum()), row[1] - row[0]]) / np.sqrt(2) + [0.25, 0]
        radius = np.linalg.norm(point - shift)
        ours = float(task.log_likelihood(row.astype(float), point[None])) + np.log(np.pi * radius)
        assert ours == pytest.approx(expected, abs=1e-3)  # theirs is in float32


@pytest.mark.parametrize("name", [*SBIBM, "sir", "lotka_volterra"])
def test_shipped_observations_look_like_ours(name):
    """The likelihood of sbibm's ten observations ranks among that of 999 of ours like one more draw.

    Kolmogorov-Smirnov on the ten ranks, false alarms 5e-4 for each task.
    """
    task = tasks.load(name)
    folder, kind = ("bernoulli_glm", "observation_raw") if name.endswith("raw") else (name, "observation")
    likelihood = jax.jit(jax.vmap(task.log_likelihood, in_axes=(None, 0)))
    rng = np.random.default_rng(11)
    ranks = []
    for number in OBSERVATIONS:
        theta = shipped(folder, "true_parameters", number)
        x = np.concatenate(
            [shipped(folder, kind, number)[None], task.simulate(np.repeat(theta[None], 999, 0), rng)]
        )
        values = np.asarray(likelihood(theta, x[:, None]))
        assert np.isfinite(values[0])
        # Ties, frequent for counts, are broken at random.
        ranks.append(((values[1:] < values[0]).sum() + rng.random() * (values[1:] == values[0]).sum()) / 999)
    assert scipy.stats.kstest(ranks, "uniform").pvalue > 5e-4


def test_first_count_of_an_epidemic_is_nearly_always_zero():
    """Success probability 1e-6 in 1000 trials: 50 positive counts expected in 50,000."""
    task = tasks.load("sir")
    x = task.simulate(task.theta_train(), np.random.default_rng(0))
    assert scipy.stats.binomtest(int((x[:, 0] > 0).sum()), 50_000, 1e-3).pvalue > 1e-4
    assert (x == np.round(x)).all()
    assert x.min() >= 0
    assert x.max() <= 1000


def test_infected_share_at_the_peak():
    """At its maximum, i = 1 - (1 + log R0) / R0, up to the one person it starts with."""
    beta, gamma = 0.5, 0.125
    theta = np.array([[beta, gamma]])
    share = task_share(theta, np.arange(0, 80, 0.05))
    ratio = beta / gamma
    assert share.max() == pytest.approx(1 - (1 + np.log(ratio)) / ratio, rel=1e-4)


def task_share(theta, times):
    from tallsbi.study.tasks.ode.kernel import trajectories

    rates = theta[:, [0, 0, 1, 0]] * [0.0, 1.0, 1.0, 1.0]
    return np.exp(trajectories(rates, sir.START, times)[0, :, 1])


def test_lotka_volterra_noise_is_lognormal_around_the_populations():
    """Kolmogorov-Smirnov on all standardised residuals, false alarms 1e-4."""
    task = tasks.load("lotka_volterra")
    theta = task.theta_train(500)
    residual = (np.log(task.simulate(theta, np.random.default_rng(2))) - task.log_populations(theta)) / 0.1
    assert scipy.stats.kstest(residual.ravel(), "norm").pvalue > 1e-4
    assert np.exp(task.log_populations(theta)[0, [0, 10]]) == pytest.approx([30, 1])


def test_populations_are_clipped():
    task = tasks.load("lotka_volterra")
    logs = task.log_populations(np.array([[2.5, 0.02, 0.1, 0.05], [0.1, 0.5, 5.0, 1e-4]]))
    assert logs.min() == pytest.approx(np.log(1e-10))
    assert logs.max() <= np.log(1e4)


def test_components_of_the_mixture_are_configured():
    """The published standard deviations unless told otherwise; with the same noise, draws scale with them."""
    theta, stds = np.zeros((400, 10)), (1.5, 1 / 3)
    plain, other = (tasks.simulator(ProblemSettings("gmm", stds=values)) for values in (None, stds))
    drawn = [task.simulate(theta, np.random.default_rng(1)) for task in (plain, other)]
    ratio = (drawn[1] / drawn[0])[:, 0]
    assert set(np.round(ratio, 6)) == {round(1.5 / 2.25, 6), 3.0}
    assert tasks.simulator(ProblemSettings("gmm")).component_stds == (2.25, 1 / 9)


@pytest.mark.parametrize("name", ["gmm", "gmm_uniform"])
def test_mixture_components(name):
    """Each component has its own scale, and both are equally likely; false alarms below 1e-4."""
    task = tasks.load(name)
    theta = task.theta_train(20_000)
    scale = np.sqrt(((task.simulate(theta, np.random.default_rng(4)) - theta) ** 2).mean(1))
    wide = scale > 0.5
    assert scipy.stats.binomtest(int(wide.sum()), 20_000, 0.5).pvalue > 1e-4
    for chosen, std in ((wide, 2.25), (~wide, 1 / 9)):
        squares = 10 * (scale[chosen] / std) ** 2
        assert scipy.stats.kstest(squares, scipy.stats.chi2(10).cdf).pvalue > 2e-5


@pytest.mark.parametrize(
    ("name", "variances"), [("gaussian_linear", np.linspace(0.6, 1.4, 10)), ("gaussian_2d", [0.25, 0.25])]
)
def test_gaussian_noise(name, variances):
    """Kolmogorov-Smirnov for each coordinate, false alarms 1e-4."""
    task = tasks.load(name)
    theta = task.theta_train(5000)
    z = (task.simulate(theta, np.random.default_rng(5)) - theta) / np.sqrt(variances)
    assert min(scipy.stats.kstest(column, "norm").pvalue for column in z.T) > 1e-5

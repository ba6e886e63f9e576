"""Every refusal says what was given, where, and what to do."""

import re
import warnings

import numpy as np
import pytest
import torch
from api_models import PRIOR, datasets, exact_posterior, quick_fit, simulator, torch_prior

from tallsbi import TallPosterior
from tallsbi.api import failures, inputs, pairs
from tallsbi.api.pairs import AnotherPrior
from tallsbi.api.simulation import SimulationError
from tallsbi.api.training_range import FarObservations, TrainingRange
from tallsbi.priors.base import UnsupportedPrior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.uniform import Uniform


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2), r"x_obs has shape (2,): give n observations of one dataset, [n, 2].*x_obs[None]"),
        (torch.zeros(1, 1, 1, 2), "x_obs has shape (1, 1, 1, 2)"),
        (torch.zeros(5, 3), "x_obs has observations of 3 numbers.*the last axis must be 2"),
        (torch.zeros(0, 2), "x_obs has shape (0, 2), without a single observation.*the prior"),
        (torch.zeros(0, 3, 2), "without a single observation"),
        ([], "x_obs has shape (0,), without a single observation"),
        ([[1.0, 2.0], [1.0]], "x_obs: not an array of numbers.*lists of equal lengths"),
        ([["a", "b"]], "x_obs: not an array of numbers (holds <U1)"),
        (torch.zeros(3, 2, dtype=torch.complex64), "x_obs: holds torch.complex64; give real numbers"),
        (np.ma.masked_invalid([[1.0, np.nan]]), "x_obs: a masked array with missing values"),
    ],
)
def test_observations_of_the_wrong_shape(x, message):
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        exact_posterior().sample(x)


def test_one_dimensional_observations_need_their_axis():
    with pytest.raises(ValueError, match=r"give x_obs\[:, None\]"):
        inputs.shaped(torch.zeros(30), 1, "x_obs")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_observations_that_are_not_finite_are_named(bad):
    x = datasets(3, 4)
    x[2, 1, 0] = x[2, 3, 1] = bad
    message = f"observation 1 of dataset 2 is {bad} in coordinate 0 (2 of 12 observations are not finite)"
    with pytest.raises(ValueError, match=re.escape(message)):
        exact_posterior().sample(x)


@pytest.mark.parametrize("samples", [0, -1, True])
def test_the_number_of_samples_is_a_positive_integer(samples):
    with pytest.raises(ValueError, match=r"n_samples = .* positive integer"):
        exact_posterior().sample(datasets(1, 2), samples)


@pytest.mark.parametrize("value", [2.5, "many", None])
def test_counts_are_positive_integers(value):
    with pytest.raises(ValueError, match=r"datasets = .*: it must be a positive integer"):
        inputs.count(value, "datasets")


def test_unknown_methods_and_settings_are_named():
    posterior, x = exact_posterior(), datasets(1, 2)
    with pytest.raises(ValueError, match=r"Unknown algorithm 'gaus'.*did you mean GAUSS\?"):
        posterior.sample(x, method="gaus")
    for settings, message in (
        ({"cov_steps": 3}, r"settings\['cov_steps'\] = 3: JAC has no such setting; it takes steps"),
        ({"steps": 2.5}, r"settings\['steps'\] = 2.5: it must be a positive integer"),
    ):
        with pytest.raises(ValueError, match=message):
            posterior.sample(x, method="JAC", settings=settings)
    with pytest.raises(TypeError, match="method = None: give the name of a method, such as 'AUTO'"):
        inputs.algorithm(None, None, 3.0)
    with pytest.raises(TypeError, match="settings = 'steps': give a mapping"):
        inputs.algorithm("JAC", "steps", 3.0)
    for clip in (0, -1.0, np.nan, "a"):
        with pytest.raises(ValueError, match=r"clip = .*: it must be a positive number"):
            inputs.algorithm("JAC-clip", None, clip)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs = 0: it must be a positive integer"),
        ({"batch_size": 0}, "batch_size = 0: it must be a positive integer"),
        ({"hidden": ()}, r"hidden = \(\): give the widths"),
        ({"hidden": (64, 0)}, "hidden = 0: it must be a positive integer"),
    ],
)
def test_training_settings_are_checked_before_the_simulator_runs(settings, message):
    with pytest.raises(ValueError, match=message):
        TallPosterior.fit(torch_prior(), lambda theta: pytest.fail("simulated"), **settings)
    with pytest.raises(ValueError, match="hidden = 64: give the widths"):
        inputs.widths(64)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda theta: theta[:3, :], r"result has shape \(3, 2\) for 400 parameters: expected \[400, d\]"),
        (lambda theta: theta[:, 0], r"has shape \(400,\).*add an axis: x\[:, None\]"),
        (
            lambda theta: torch.where(theta > 1.5, torch.nan, theta),
            "simulations are not finite, the first is row",
        ),
        (lambda theta: "no", "the simulator's result: not an array of numbers"),
    ],
)
def test_what_a_simulator_may_not_return(source, message):
    with pytest.raises(ValueError, match=message):
        quick_fit(source)


def test_pairs_that_cannot_be_used_are_named():
    theta = torch_prior().sample((50,))
    with pytest.raises(ValueError, match=r"theta has shape \(50, 1\); the prior has 2 coordinates"):
        quick_fit((theta[:, :1], theta))
    with pytest.raises(ValueError, match=r"x has shape \(49, 2\) for 50 parameters"):
        quick_fit((theta, theta[1:]))
    with pytest.raises(TypeError, match=r"the second argument is int: give a simulator"):
        pairs.training_pairs(PRIOR, 3, 10, 0)
    box = torch.distributions.Uniform(torch.zeros(2), torch.ones(2))
    with pytest.raises(
        ValueError, match=r"rows are outside the prior's support, the first is row 1, \[2.0, 0.5\]"
    ):
        TallPosterior.fit(box, ([[0.5, 0.5], [2.0, 0.5]], [[0.0], [1.0]]))
    with pytest.raises(ValueError, match="theta: 1 of 50 rows are not finite, the first is row 3"):
        quick_fit((torch.where(torch.arange(50)[:, None] == 3, torch.nan, theta), theta))
    with pytest.raises(ValueError, match=r"simulations = 0: it must be a positive integer"):
        quick_fit(simulations=0)


def test_far_observations_are_warned_of_with_their_distance():
    posterior, x = quick_fit(), datasets(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior.sample(x, 5)
    x[1, 2] = torch.tensor([500.0, -2.0])
    with pytest.warns(
        FarObservations, match=r"1 of 6 .* observation 2 of dataset 1: Mahalanobis distance"
    ) as caught:
        posterior.sample(x, 5)
    text = str(caught[0].message)
    assert "coordinate 0 is 500" in text
    distance = float(re.search(r"distance ([\d.e+]+),", text)[1])
    assert distance == pytest.approx(float(posterior.training_range.distances(x)[1, 2]), rel=0.01)


def test_distances_are_those_of_mahalanobis():
    rows = torch.randn(500, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) @ torch.randn(
        3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    known = TrainingRange.of(rows)
    centred = rows[:5] - rows.mean(0)
    expected = (centred @ torch.linalg.inv(torch.cov(rows.T)) * centred).sum(1).sqrt()
    torch.testing.assert_close(known.distances(rows[None, :5])[0], expected)
    assert known.farthest == pytest.approx(float(known.distances(rows[None]).max()))


def test_correlated_outliers_and_constant_columns_are_seen():
    draws = torch.Generator().manual_seed(0)
    z = torch.randn(400, 1, dtype=torch.float64, generator=draws)
    rows = torch.cat([z, z + 0.01 * torch.randn(400, 1, dtype=torch.float64, generator=draws), 0 * z + 7], 1)
    known = TrainingRange.of(rows)
    # Each coordinate is within its range; together they are not.
    inside, outside = torch.tensor([[[1.0, 1.0, 7.0]]]).double(), torch.tensor([[[1.0, -1.0, 7.0]]]).double()
    assert float(known.distances(inside)) < known.farthest < 0.1 * float(known.distances(outside))
    changed = torch.tensor([[[1.0, 1.0, 8.0]]]).double()
    with pytest.warns(FarObservations, match=r"infinite \(a value that never varied\)"):
        known.warn(changed)


def test_draws_that_are_not_finite_are_returned_and_warned_of():
    x = datasets(2, 100)
    with pytest.warns(UserWarning, match=r"LANGEVIN: \d+ of 40 draws are not finite.*use AUTO"):
        theta = exact_posterior().sample(x, 20, "LANGEVIN", settings={"steps": 300, "tau": 60.0})
    assert not bool(theta.isfinite().all())


def test_parameters_of_another_prior_are_warned_of():
    theta = torch_prior().sample((500,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick_fit((theta, simulator(theta)))
    for other in (theta + 1.5, theta * 2):
        with pytest.warns(
            AnotherPrior, match="theta does not look like draws of the prior: coordinate 0 has"
        ):
            quick_fit((other, simulator(other)))


def test_draws_that_no_prior_makes_are_warned_of():
    draws = torch.zeros(2, 10, 2, dtype=torch.float64)
    none = torch.zeros(2, dtype=torch.int64)
    box = Uniform(torch.full((2,), -1.0), torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for prior in (Gaussian.standard(2), box):
            failures.warn("GAUSS", draws, prior, none)
    draws[1, 3:5, 0] = 9.0
    for prior in (Gaussian.standard(2), box):
        with pytest.warns(UserWarning, match="GAUSS: 2 of 20 draws are outside .* dataset 1.*use AUTO"):
            failures.warn("GAUSS", draws, prior, none)
    # What comes out of the latent space may be infinite although no state was.
    far = LogNormal(torch.zeros(2), torch.ones(2)).to_parameter(torch.full((1, 2, 2), 800.0).double())
    with pytest.warns(UserWarning, match="GAUSS_PD: 2 of 2 draws are not finite.*; train longer"):
        failures.warn("GAUSS_PD", far, LogNormal(torch.zeros(2), torch.ones(2)), none[:1])


def test_global_streams_are_restored_after_an_error():
    def failing(theta):
        raise RuntimeError("the simulator's own error")

    torch.manual_seed(1)
    expected = torch.rand(1)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    torch.manual_seed(1)
    with pytest.raises(SimulationError, match="the simulator's own error"):
        pairs.simulate(failing, torch.zeros(3, 2), 5)
    assert torch.equal(torch.rand(1), expected)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_what_is_in_the_wrong_place_is_named():
    posterior, x = exact_posterior(), datasets(2, 3)
    with pytest.raises(
        TypeError, match=r"sample\(1000\): here the observations come first.*sample\(x, 1000\)"
    ):
        posterior.sample(1000)
    with pytest.raises(
        TypeError, match=r"horizon\(\) got an unexpected keyword argument 'nmax'; it takes .*n_max"
    ):
        posterior.horizon(simulator, nmax=3)
    with pytest.raises(TypeError, match=r"predict: the simulator is Tensor, .*predict\(simulator, x_obs\)"):
        posterior.predict(x, simulator)
    with pytest.raises(
        ValueError, match=r"x_obs has shape \(2, 3, 2\); predict looks at one dataset of n = 3"
    ):
        posterior.predict(simulator, x)
    with pytest.raises(UnsupportedPrior, match=r"prior: simulator is a function; the prior comes first"):
        TallPosterior.fit(simulator, torch_prior())

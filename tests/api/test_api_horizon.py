"""The horizon: within a factor 2 of where a posterior fails, kept, warned of, and no cost beyond its share."""

import math
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from api_models import PRIOR, ExactEngine, datasets, exact, exact_posterior, quick_fit, simulator
from oracles import healthy

from tallsbi import TallPosterior
from tallsbi.api.horizon import BeyondHorizon, numbers
from tallsbi.api.inputs import METHOD
from tallsbi.api.layout import Layout
from tallsbi.api.pool import Pool
from tallsbi.priors.lognormal import LogNormal
from tallsbi.samplers.base import Samples


@dataclass(frozen=True, eq=False)
class Known(ExactEngine):
    """The exact posterior, drawn from directly, with a mean off as scores that err make it: E[z^2] = 1 + n / c."""

    c: float = math.inf
    lost: bool = False

    def sample(self, algorithm, x, samples, generators, progress=iter):
        (B, n, _), draws = x.shape, generators[0]
        mean, cov = exact(x)
        # In one direction for a dataset, the other for the next: wrong, but not on average.
        sign = torch.where(x[:, 0, :1] > 0, 1.0, -1.0)
        mean = mean + sign * math.sqrt(n / self.c) * cov.diagonal().sqrt()
        noise = torch.randn(B, samples, 2, generator=draws, dtype=torch.float64)
        theta = mean[:, None] + noise @ torch.linalg.cholesky(cov).mT
        theta[:, : samples if self.lost else 0] = torch.nan
        return Samples(theta, healthy(B))


def known(**kind):
    return TallPosterior(Known(**kind), 2)


@pytest.mark.parametrize("crossing", [2, 5, 15, 50])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_right_within_a_factor_two(crossing, seed):
    # E[z^2] = 1.25^2 at n = crossing.
    horizon = known(c=crossing / (1.25**2 - 1)).horizon(simulator, seed=seed)
    assert crossing / 2 <= horizon.n <= crossing * 2, str(horizon)
    assert "too narrow in sigma" in horizon.answer


def test_a_calibrated_posterior_reaches_the_end():
    horizon = known().horizon(simulator, n_max=50, seed=2)
    assert [at.n for at in horizon.measured] == [1, 3, 10, 30, 50]
    assert horizon.n == horizon.largest == 50
    assert horizon.answer == "trustworthy up to n = 50, the largest n measured"
    assert horizon.simulations == 5000
    assert all(len(at.rms_z.value) == 2 for at in horizon.measured)


def test_the_drawn_posterior_is_measured_with_few_draws_behind_covariances():
    horizon = exact_posterior().horizon(simulator, n_max=3, datasets=30)
    assert horizon.departures == []
    text = str(horizon)
    assert text.startswith(f"{METHOD}: trustworthy up to n = 3, the largest n measured")
    assert "30 datasets per n, 20 draws each, " in text
    assert text.count("\n") == 2 + 4


def test_more_datasets_are_taken_where_one_batch_does_not_tell():
    crossing = known(c=30 / (1.25**2 - 1)).horizon(simulator, n_max=30)
    assert crossing.measured[-1].datasets in (200, 300)
    spent = sum(at.n * (at.datasets - 100) for at in crossing.measured)
    assert crossing.simulations == 100 * crossing.largest + spent
    bounded = known(c=30 / (1.25**2 - 1)).horizon(simulator, n_max=30, simulations=3500)
    assert bounded.simulations <= 3500
    assert {at.datasets for at in bounded.measured} <= {100, 200, 300}


def test_it_stops_where_it_fails_and_says_what_is_wrong():
    posterior = known(c=0.5)
    calls = []
    horizon = posterior.horizon(lambda theta: calls.append(len(theta)) or simulator(theta), datasets=80)
    # A few rows tell how it wants them.
    assert sum(calls) <= 80 + 10
    assert horizon.n == 0
    assert horizon.answer.startswith("not trustworthy: at n = 1 intervals are ")
    with pytest.warns(
        BeyondHorizon, match=rf"{METHOD}: n = 2 is beyond the horizon, n = 0: at n = 1 intervals"
    ):
        posterior.sample(datasets(1, 2), 10)


def test_lost_draws_are_failures():
    horizon = known(lost=True).horizon(simulator, datasets=40)
    assert horizon.n == 0
    assert "datasets without finite draws, counted as failures: 40 at n = 1" in str(horizon)


def test_datasets_are_nested():
    pool = Pool(PRIOR, Layout((2,)), simulator, 5, seed=1)
    few = pool.observations(3).clone()
    assert torch.equal(pool.observations(10)[:, :3], few)
    assert torch.equal(Pool(PRIOR, Layout((2,)), simulator, 5, seed=1).observations(3), few)


def test_pairs_serve_as_well():
    theta = PRIOR.sample(60, torch.Generator().manual_seed(0))
    x = torch.stack([simulator(theta.float()) for _ in range(12)], 1)
    horizon = known().horizon((theta, x))
    assert [at.n for at in horizon.measured] == [1, 3, 12]
    assert horizon.simulations == 0
    with pytest.raises(ValueError, match=r"give theta \[N, 2\] and x \[N, n, 2\]"):
        known().horizon((theta[:5], x))


def test_numbers_of_observations():
    assert numbers(100) == [1, 3, 10, 30, 100]
    assert numbers(1) == [1]
    assert numbers(31) == [1, 3, 10, 31]
    assert numbers(12) == [1, 3, 12]
    assert numbers(1000)[-2:] == [300, 1000]


def test_observations_of_parameters_of_their_own_are_no_replicates():
    """Patients with their own parameters: right for one of them, far too sure of the population for many."""

    def patients(theta):
        return simulator(theta + 1.5 * torch.randn_like(theta))

    horizon = known().horizon(patients)
    assert 0 <= horizon.n < 10
    assert "too narrow in sigma" in horizon.answer
    assert repr(horizon) == str(horizon)
    assert known().horizon(simulator, n_max=10).n == 10
    with pytest.warns(UserWarning, match="SBC"):
        assert not known().diagnose(patients, 10, datasets=40, n_samples=20).calibrated
    # One theta does not spread patients as far as they are apart.
    torch.manual_seed(0)
    x = patients(torch.tensor([[1.0, -2.0]]).repeat(30, 1))
    check = known().predict(simulator, x)
    assert not check.plausible
    assert "sd of x[0]" in str(check).splitlines()[2]
    assert known().predict(simulator, simulator(torch.tensor([[1.0, -2.0]]).repeat(30, 1))).plausible


def test_sample_warns_beyond_and_says_how_far():
    posterior = known(c=10.0)
    horizon = posterior.horizon(simulator)
    assert posterior.horizons == {METHOD: horizon}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior.sample(datasets(1, horizon.n), 10)
        posterior.sample(datasets(1, 60), 10, "JAC")  # of which nothing is known
    n = 4 * horizon.n
    with pytest.warns(BeyondHorizon, match=rf"n = {n} is 4.0 times the horizon, n = {horizon.n}: at n = "):
        posterior.sample(datasets(1, n), 10)


def test_sample_warns_where_nothing_is_known():
    posterior = known()
    posterior.horizon(simulator, n_max=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior.sample(datasets(1, 6), 10)
    with pytest.warns(BeyondHorizon, match=r"measured up to n = 3 only.*horizon\(simulator, n_max=7\)"):
        posterior.sample(datasets(1, 7), 10)


def test_offsets_are_measured_where_the_prior_is_gaussian():
    @dataclass(frozen=True, eq=False)
    class Wide(Known):
        """The prior itself, of a parameter with a heavy tail: calibrated, since the data say nothing."""

        prior: LogNormal = field(default_factory=lambda: LogNormal(torch.zeros(2), torch.ones(2)))

        def sample(self, algorithm, x, samples, generators, progress=iter):
            theta = torch.randn(len(x), samples, 2, dtype=torch.float64, generator=generators[0]).exp()
            return Samples(theta, healthy(len(x)))

    horizon = TallPosterior(Wide(), 2).horizon(torch.randn_like, n_max=3)
    assert horizon.n == 3
    rms = [at.rms_z.value for at in horizon.measured]
    assert np.allclose(rms, 1, atol=0.3)


def test_the_same_seed_gives_the_same_horizon():
    one, other = (known(c=8.0).horizon(simulator, seed=5) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert one.to_json() != known(c=8.0).horizon(simulator, seed=6).to_json()


def test_fit_measures_within_its_share_and_save_keeps_it(tmp_path):
    calls = []

    def counted(theta):
        calls.append(len(theta))
        return simulator(theta)

    posterior = quick_fit(counted, simulations=4000, epochs=1)
    horizon = posterior.horizons[METHOD]
    repeats = 200  # half of the share, for the summaries
    assert sum(calls) <= 4000 + horizon.simulations + repeats + 10 * len(calls)
    assert horizon.simulations <= 400
    posterior.save(tmp_path / "saved")
    back = TallPosterior.load(tmp_path / "saved")
    assert back.horizons[METHOD].to_json() == horizon.to_json()
    assert str(back.horizons[METHOD]) == str(horizon)
    with pytest.warns(BeyondHorizon):
        back.sample(datasets(1, 3 * horizon.largest), 10, settings={"cov_samples": 20})
    assert 200 in calls
    # Too few for one observation of each dataset; none wanted; no simulator.
    assert not quick_fit(simulations=400).horizons
    assert not quick_fit(simulations=2000, epochs=1, horizon=0).horizons
    theta = PRIOR.sample(2000, torch.Generator()).float()
    assert not quick_fit((theta, simulator(theta)), epochs=1).horizons


def test_a_simulator_that_fails_afterwards_costs_the_horizon_only():
    calls = []

    def once(theta):
        calls.append(len(theta))
        if 1000 in calls[:-1]:
            raise RuntimeError("the licence has run out")
        return simulator(theta)

    with pytest.warns(
        UserWarning, match="horizon could not be measured .*RuntimeError: the licence has run out"
    ):
        posterior = quick_fit(once, simulations=1000, epochs=1)
    assert not posterior.horizons
    assert posterior.sample(datasets(1, 2), 5, settings={"cov_samples": 20}).shape == (1, 5, 2)


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match=r"horizon = 2: give the share of `simulations`"):
        quick_fit(horizon=2)
    with pytest.raises(
        ValueError, match="simulations = 40: one observation for each of 100 datasets takes 100"
    ):
        known().horizon(simulator, simulations=40)
    with pytest.raises(ValueError, match="n_max = 0: it must be a positive integer"):
        known().horizon(simulator, n_max=0)
    with pytest.raises(ValueError, match="n_samples = 5: a standard deviation needs"):
        known().horizon(simulator, n_samples=5)
    with pytest.raises(TypeError, match="the first argument is NoneType: give the simulator"):
        known().horizon(None)


def test_the_plot_shows_what_was_measured():
    horizon = known(c=8.0).horizon(simulator)
    figure = horizon.plot()
    assert [axes.get_ylabel() for axes in figure.axes][:2] == ["root mean square z", "mean z"]
    assert horizon.answer in figure.get_suptitle()
    (first, *_) = figure.axes
    line = first.containers[0].lines[0]
    assert np.allclose(line.get_ydata(), [at.rms_z.value[0] for at in horizon.measured])
    assert len(horizon.table()) == 2 * len(horizon.measured)


def test_networks_of_sbi_have_a_horizon_and_keep_it(tmp_path):
    from sbi.neural_nets.estimators.score_estimator import VPScoreEstimator

    class Prior(VPScoreEstimator):
        """The score of a standard normal: the posterior of data that say nothing."""

        def forward(self, input, condition, time):
            return -input

    built = Prior(torch.nn.Linear(1, 1), torch.Size([2]), torch.Size([2]))
    posterior = TallPosterior.from_sbi(
        built, torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    )
    horizon = posterior.horizon(torch.randn_like, n_max=1, datasets=50)
    assert horizon.n == 1
    posterior.save(tmp_path / "saved")
    back = TallPosterior.load(tmp_path / "saved", network=built)
    assert back.horizons[METHOD].to_json() == horizon.to_json()

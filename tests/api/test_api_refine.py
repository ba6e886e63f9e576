"""`refine` against closed forms, and where it must not be trusted."""

import warnings
from dataclasses import dataclass, replace

import pytest
import torch
from api_models import ExactEngine, datasets, errors, exact_posterior, quick_fit, simulator
from torch import distributions as td

from tallsbi import TallPosterior
from tallsbi.api.local_likelihood import LocalLikelihood, independent_draws, integrated, polynomial, terms
from tallsbi.api.modes import without_strays
from tallsbi.api.refine import likelihood_widening
from tallsbi.api.refined import NotRefined, RefinedPosterior
from tallsbi.api.surroundings import Surroundings, narrowed, widest

SMALL_REFINEMENT = {"simulations": 3000, "settings": {"cov_samples": 20, "steps": 20}}


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class BiasedEngine(ExactEngine):
    """Every score is wrong by a little, which adds up: at n = 50 five standard deviations."""

    def problem(self, x):
        return super().problem(x + 0.8)


@pytest.fixture(scope="module")
def poor():
    return TallPosterior(BiasedEngine(), 2)


@pytest.fixture(scope="module")
def refined(poor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poor.refine(datasets(1, 50)[0], simulator, **SMALL_REFINEMENT | {"simulations": 6000})


def test_a_poor_posterior_becomes_the_exact_one(poor, refined):
    x = datasets(1, 50)
    before, _ = errors(poor.sample(x, 300, settings={"cov_samples": 50}), x)
    after, cov = errors(refined.sample(2000)[None], x)
    assert refined.report.outcome == "refined"
    # 6,000 simulations leave an error of 0.3 standard deviations, as root mean square; before, it is above 4.
    assert after.abs().max() < 1 < 3 < before.abs().max()
    assert (cov[0].diagonal().log().abs() < 0.4).all()


def test_the_report_counts_simulations_and_says_what_was_checked(refined):
    report = refined.report
    assert 5900 < report.simulations <= 6000
    assert len(report.widths) == 4
    assert report.widths[-1] < report.widths[0] < 1
    assert 0.5 < report.z_after < 1.5 < report.z_before
    assert report.gain > 2 * report.gain_error
    for part in ("simulations", "effective", "before", "refined"):
        assert part in str(report)


def test_the_same_seed_gives_the_same_posterior(poor):
    x = datasets(1, 20)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [
            poor.refine(x, simulator, **SMALL_REFINEMENT | {"simulations": 1500}, seed=s).sample(20)
            for s in (3, 3, 4)
        ]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_what_was_saved_gives_the_same_draws(refined, tmp_path):
    refined.save(tmp_path / "local")
    loaded = RefinedPosterior.load(tmp_path / "local")
    assert loaded.report == refined.report
    assert torch.equal(loaded.sample(50, seed=3), refined.sample(50, seed=3))


def test_a_good_posterior_is_never_made_worse_in_silence():
    # Nothing beats the exact score: it is kept, or what comes instead is as good.
    x = datasets(1, 50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = exact_posterior().refine(x[0], simulator, **SMALL_REFINEMENT)
    bias, _ = errors(result.sample(1000)[None], x)
    assert bias.abs().max() < 1.2  # 3,000 simulations leave 0.4, as root mean square
    assert (result.report.outcome == "refined") != any(issubclass(w.category, NotRefined) for w in caught)


def test_several_modes_are_refused_before_anything_is_simulated(tmp_path, monkeypatch):
    posterior = quick_fit()
    modes = torch.cat([normal(100, 2, seed=1) * 0.05 + 2, normal(100, 2, seed=2) * 0.05 - 2])

    def drawn(self, rows):
        return [modes for _ in rows]

    monkeypatch.setattr(Surroundings, "drawn", drawn)
    x = datasets(1, 5)[0]
    with pytest.warns(NotRefined, match="several modes"):
        result = posterior.refine(x, lambda theta: 1 / 0, **SMALL_REFINEMENT, method="GAUSS_PD")
    assert result.report.outcome == "kept"
    assert result.report.simulations == 0
    result.save(tmp_path / "kept")
    loaded = RefinedPosterior.load(tmp_path / "kept")
    assert torch.equal(loaded.sample(5), result.sample(5))
    # With the method and the settings it was called with, not with others.
    plain = posterior.sample(x, 5, "GAUSS_PD", settings=SMALL_REFINEMENT["settings"])
    assert torch.equal(result.sample(5), plain)
    assert not torch.equal(result.sample(5), posterior.sample(x, 5, "GAUSS_PD"))


def test_a_posterior_at_a_bound_stays_inside():
    low, high = torch.tensor([0.0]), torch.tensor([4.0])

    def near_zero(theta):
        return theta + torch.randn_like(theta)

    prior = td.Independent(td.Uniform(low, high), 1)
    posterior = TallPosterior.fit(
        prior, near_zero, simulations=2000, epochs=20, hidden=(32, 32), early_stopping=False, batch_size=64
    )
    x = normal(40, 1, seed=3) - 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = posterior.refine(x, near_zero, method="GAUSS_PD", **SMALL_REFINEMENT | {"simulations": 6000})
    draws = result.sample(2000)
    assert float(draws.min()) >= 0
    # The exact one is a normal density around the mean, cut off at 0.
    scale = 1 / 40**0.5
    grid = torch.linspace(0, 2, 4001, dtype=torch.float64)
    weight = torch.softmax(-0.5 * ((grid - x.mean()) / scale).square(), 0)
    mean = float(weight @ grid)
    std = float(weight @ (grid - mean).square()) ** 0.5
    assert result.report.outcome == "refined", result.report
    assert abs(float(draws.mean()) - mean) < std
    assert abs(float(draws.std()) / std - 1) < 0.4


def test_counts_that_carry_less_than_there_are_parameters():
    # A single yes or no: two parameters, of which only the sum shows.
    def coin(theta):
        return torch.bernoulli(torch.sigmoid(theta.sum(1, keepdim=True)))

    prior = td.MultivariateNormal(torch.zeros(2), torch.eye(2))
    posterior = TallPosterior.fit(
        prior, coin, simulations=1000, epochs=10, hidden=(16, 16), early_stopping=False, batch_size=64
    )
    x = (torch.arange(60) % 3 == 0).double()[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = posterior.refine(x, coin, **SMALL_REFINEMENT)
    draws = result.sample(2000)
    assert draws.isfinite().all()
    if result.report.outcome == "refined":
        total = draws.sum(1)
        # log odds of a third, shrunk a little by the prior; known to about 1 / sqrt(60 / 4.5).
        assert abs(float(total.mean()) + 0.67) < 0.2
        assert 0.2 < float(total.std()) < 0.35
        assert 1.0 < float((draws[:, 0] - draws[:, 1]).std()) < 1.8  # the prior's, sqrt(2)


def test_bad_input_is_named(poor):
    x = datasets(2, 5)
    with pytest.raises(ValueError, match="2 datasets"):
        poor.refine(x, simulator)
    with pytest.raises(TypeError, match="simulator is tuple"):
        poor.refine(x[0], (x[0], x[0]))
    with pytest.raises(ValueError, match="simulations = 10"):
        poor.refine(x[0], simulator, 10)


def test_other_data_are_refused(refined):
    with pytest.raises(TypeError, match="takes no others"):
        refined.sample(datasets(1, 50)[0])


@pytest.mark.parametrize("width", [0.7, 1.0, 3.0])
def test_the_check_tells_by_how_much_the_likelihood_is_too_narrow(width):
    """A likelihood that claims a standard deviation of 1 and has 1.5; the prior of the check is right."""
    generator = torch.Generator().manual_seed(0)
    theta, error = torch.randn(2, 200_000, generator=generator, dtype=torch.float64)
    theta = width * theta
    precision = 1 + width**-2
    z = (theta - (theta + 1.5 * error) / precision) * precision**0.5
    assert likelihood_widening(float(z.square().mean().sqrt()), width) == pytest.approx(1.5, rel=0.02)
    assert likelihood_widening(1.0, width) == 1.0


def test_a_likelihood_that_is_too_narrow_is_widened_to_the_right_width(poor, monkeypatch):
    """The noise of the summaries is made half of what it is, in every round."""
    fit = LocalLikelihood.fit

    def too_narrow(*arguments):
        likelihood = fit(*arguments)
        return replace(likelihood, noise=0.5 * likelihood.noise)

    monkeypatch.setattr(LocalLikelihood, "fit", too_narrow)
    x = datasets(1, 50)
    with pytest.warns(NotRefined, match="times as wide"):
        refined = poor.refine(x[0], simulator, **SMALL_REFINEMENT | {"simulations": 9000})
    assert refined.report.outcome == "widened"
    assert refined.report.widening == pytest.approx(2.0, rel=0.2)
    bias, covariance = errors(refined.sample(2000)[None], x)
    assert bias.abs().max() < 0.5
    assert float(covariance[0].diagonal().mean()) ** 0.5 == pytest.approx(1.0, abs=0.25)


def test_strays_are_left_out_and_modes_are_seen():
    plain = normal(200, 3)
    strays = torch.cat([plain, normal(4, 3) + 60])
    kept, gap = without_strays(strays)
    assert len(kept) == 200
    assert gap is None
    assert without_strays(plain)[1] is None
    assert without_strays(plain.exp())[1] is None  # skewed, with one mode
    _, gap = without_strays(torch.cat([plain, normal(60, 3, seed=1) + torch.tensor([0.0, 9.0, 0.0])]))
    assert abs(abs(float(gap[1])) - 9) < 0.6


def test_a_polynomial_has_all_terms_of_its_degree():
    u = normal(5, 3)
    for degree in (1, 2, 3):
        assert polynomial(u, degree).shape[1] == terms(3, degree)
    assert torch.allclose(polynomial(u, 2)[:, 4], u[:, 0] ** 2)


def test_a_proposal_only_narrows():
    scale = torch.linalg.cholesky(torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64))
    wider = narrowed(scale, torch.diag(torch.tensor([0.01, 50.0], dtype=torch.float64)))
    inner = torch.linalg.solve(scale, wider)
    assert float(torch.linalg.svdvals(inner).max()) < 1 + 1e-9
    assert float(torch.linalg.svdvals(inner).min()) < 0.2


def test_the_wider_of_two_covariances_in_every_direction():
    first = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    second = torch.diag(torch.tensor([0.01, 50.0], dtype=torch.float64))
    both = widest(first, second)
    for covariance in (first, second):
        assert float(torch.linalg.eigvalsh(both - covariance).min()) > -1e-9
    assert torch.allclose(widest(first, 0.3 * first), first)
    assert torch.allclose(widest(0.3 * first, first), first)


def test_a_bound_does_not_narrow_what_the_likelihood_says():
    """Summaries 3 u + N(0, 1), n = 16, a prior of variance 4: the information is 9 * 16 + 1 / 4, wherever theta is."""
    theta = 2 * normal(20_000, 1)
    centre, scale = torch.zeros(1, dtype=torch.float64), torch.full((1, 1), 2.0, dtype=torch.float64)
    likelihood = LocalLikelihood.fit(theta, 3 * theta + normal(20_000, 1, seed=1), centre, scale)
    for place in (0.0, 1.5):
        at = torch.full((1,), place, dtype=torch.float64)
        covariance = likelihood.gaussian_covariance(at, 16, torch.full((1, 1), 4.0, dtype=torch.float64))
        assert float(covariance) == pytest.approx(1 / (9 * 16 + 1 / 4), rel=0.05)


def test_the_local_likelihood_finds_degree_covariance_and_its_own_error():
    theta = normal(4000, 1) * 2
    one = torch.ones(1, dtype=torch.float64)
    spread = (0.2 * theta).exp()
    bent = theta + 0.3 * theta**2 + spread * normal(4000, 1, seed=1)
    fitted = LocalLikelihood.fit(theta, bent, 0 * one, 2 * torch.eye(1, dtype=torch.float64))
    assert fitted.degree >= 2
    at, n = torch.tensor([[1.0]], dtype=torch.float64), 100
    grid = torch.linspace(1.0, 1.6, 601, dtype=torch.float64)
    density = torch.stack([fitted.log_prob(at, value[None], n)[0] for value in grid]).softmax(0)
    mean = float(density @ grid)
    assert abs(mean - 1.3) < 0.15
    assert abs(float(density @ (grid - mean).square()) ** 0.5 / (0.1 * torch.e**0.2) - 1) < 0.2
    # Many more observations than simulations: the error of the fit is what remains.
    far = torch.stack([fitted.log_prob(at, value[None], 10**9)[0] for value in grid]).softmax(0)
    assert float(far @ (grid - float(far @ grid)).square()) ** 0.5 > 0.01
    assert fitted.log_prob(100 * at, one, n).item() == -torch.inf


def test_importance_draws_follow_a_target_that_is_cut_off():
    def target(theta):
        return torch.where(theta[:, 0] > 1, -0.5 * theta.square().sum(1), -torch.inf)

    start = torch.tensor([3.0, 3.0], dtype=torch.float64)
    generator = torch.Generator().manual_seed(1)
    weighted = integrated(target, start, torch.eye(2, dtype=torch.float64), generator)
    assert weighted.ess > 500
    draws = independent_draws(target, weighted, 4000, generator)
    assert float(draws[:, 0].min()) > 1
    assert abs(float(draws[:, 0].mean()) - 1.525) < 0.05
    assert abs(float(draws[:, 1].std()) - 1) < 0.06

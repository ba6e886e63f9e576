"""Priors known by their distribution functions: density, latent space, quantiles, truncation, file, posterior."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
import torch
from prior_examples import HIGH, LOW, log_prob, lognormals
from torch import distributions as td

from tallsbi import TallPosterior
from tallsbi.algorithms.base import Problem
from tallsbi.api.engine import Engine
from tallsbi.api.priors import UnsupportedPrior, as_prior
from tallsbi.priors.description import from_json
from tallsbi.priors.marginals import Marginals
from tallsbi.priors.truncation import Truncated
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import NETWORK
from tallsbi.scores.base import BoundScore, Score

TORCH_KINDS = {
    "Gamma": td.Gamma(torch.tensor([0.5, 3.0, 200.0]), torch.tensor([2.0, 0.1, 1.0])),
    "Beta": td.Beta(torch.tensor([0.5, 2.0, 300.0]), torch.tensor([0.7, 5.0, 40.0])),
    "StudentT": td.StudentT(
        torch.tensor([1.5, 4.0, 100.0]), torch.tensor([3.0, -50.0, 0.0]), torch.tensor([0.1, 9.0, 1.0])
    ),
    "Weibull": td.Weibull(torch.tensor([1.0, 30.0]), torch.tensor([0.7, 4.0])),
    "Pareto": td.Pareto(torch.tensor([2.0]), torch.tensor([3.0])),
    "Chi2": td.Chi2(torch.tensor([1.0, 7.0])),
    "InverseGamma": td.InverseGamma(torch.tensor([3.0]), torch.tensor([2.0])),
    "FisherSnedecor": td.FisherSnedecor(torch.tensor([3.0]), torch.tensor([8.0])),
    "Kumaraswamy": td.Kumaraswamy(torch.tensor([2.0]), torch.tensor([3.0])),
    "exp of a Gaussian": lognormals(),
    "logistic of Gaussians, scaled": td.TransformedDistribution(
        td.Independent(td.Normal(LOW, HIGH), 1), [td.SigmoidTransform(), td.AffineTransform(LOW, HIGH)]
    ),
    "powers of uniforms": td.TransformedDistribution(
        td.Uniform(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])), td.PowerTransform(torch.tensor(-1.0))
    ),
    "mixture": td.MixtureSameFamily(
        td.Categorical(torch.tensor([0.3, 0.7])),
        td.Normal(torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 1.0])),
    ),
}
SCIPY_KINDS = {
    "gamma": scipy.stats.gamma(2.5, scale=3.0),
    "beta": scipy.stats.beta(2.0, 3.0, loc=-1.0, scale=4.0),
    "a batch": scipy.stats.gamma([0.8, 20.0], scale=[1.0, 0.2]),
    "t": scipy.stats.t(3, loc=1.0, scale=2.0),
    "weibull": scipy.stats.weibull_min(1.7, scale=2.0),
    "halfnorm": scipy.stats.halfnorm(scale=2.0),
    "truncnorm": scipy.stats.truncnorm(-0.5, 3.0, loc=1.0, scale=2.0),
    "skewnorm": scipy.stats.skewnorm(4.0),
    "lognorm": scipy.stats.lognorm(0.4, scale=5.0),
    "lognorm from 1": scipy.stats.lognorm(0.4, loc=1.0, scale=5.0),
    "norm": scipy.stats.norm([0.0, 3.0], 2.0),
    "uniform": scipy.stats.uniform(loc=-1.0, scale=4.0),
}


@pytest.mark.parametrize("kind", [*TORCH_KINDS, *SCIPY_KINDS])
def test_any_distribution_with_a_distribution_function_is_a_prior(kind):
    """Density, latent space, draws and file, against the distribution itself."""
    distribution = TORCH_KINDS.get(kind) or SCIPY_KINDS[kind]
    prior = as_prior(distribution)
    torch.manual_seed(3)
    count = 3000
    if kind in TORCH_KINDS:
        theta = distribution.sample((count,)).double().reshape(count, prior.dim)
        density = log_prob(distribution, theta)
    else:
        drawn = distribution.rvs((count, prior.dim), random_state=np.random.default_rng(3))
        theta, density = torch.tensor(drawn), torch.tensor(distribution.logpdf(drawn)).sum(-1)
    torch.testing.assert_close(prior.log_prob(theta).double(), density.double(), rtol=2e-4, atol=2e-4)
    latent = prior.to_latent(theta)
    torch.testing.assert_close(prior.to_parameter(latent), theta, rtol=1e-5, atol=1e-6)
    white = torch.linalg.solve_triangular(
        torch.linalg.cholesky(prior.covariance()[0]), (latent - prior.latent_mean()).mT, upper=False
    )
    # Five standard errors of means and of variances.
    assert white.mean(1).abs().max() < 5 / count**0.5
    if not isinstance(prior, Uniform):
        assert (torch.cov(white) - torch.eye(prior.dim)).abs().max() < 5 * (2 / count) ** 0.5
    again = from_json(json.loads(json.dumps(prior.to_json())))
    stream = torch.Generator().manual_seed
    assert torch.equal(prior.sample(50, stream(0)), again.sample(50, stream(0)))
    torch.testing.assert_close(again.log_prob(theta), prior.log_prob(theta), rtol=1e-12, atol=1e-12)
    assert prior.to_parameter(prior.latent_mean() + 100.0).isfinite().all() or kind == "exp of a Gaussian"


@pytest.mark.parametrize("kind", ["gamma", "t", "beta", "skewnorm"])
def test_quantiles_are_those_of_the_distribution_far_into_the_tails(kind):
    prior, z = as_prior(SCIPY_KINDS[kind]), torch.linspace(-6.5, 6.5, 41, dtype=torch.float64)
    low = SCIPY_KINDS[kind].ppf(scipy.stats.norm.cdf(z.numpy()))
    high = SCIPY_KINDS[kind].isf(scipy.stats.norm.sf(z.numpy()))
    expected = np.where(z.numpy() < 0, low, high)
    np.testing.assert_allclose(prior.to_parameter(z[:, None])[:, 0].numpy(), expected, rtol=1e-5, atol=1e-9)


def test_quantiles_of_torch_agree_with_those_of_scipy():
    pairs = [
        (td.Gamma(0.5, 2.0), scipy.stats.gamma(0.5, scale=0.5)),
        (td.Beta(0.5, 300.0), scipy.stats.beta(0.5, 300.0)),
        (td.StudentT(2.5, 1.0, 3.0), scipy.stats.t(2.5, loc=1.0, scale=3.0)),
        (td.FisherSnedecor(3.0, 8.0), scipy.stats.f(3.0, 8.0)),
    ]
    z = torch.linspace(-5, 5, 101, dtype=torch.float64)[:, None]
    for ours, theirs in pairs:
        expected = theirs.ppf(scipy.stats.norm.cdf(z.numpy()))
        np.testing.assert_allclose(as_prior(ours).to_parameter(z).numpy(), expected, rtol=3e-7)


class Triangle:
    """On [0, 1] with density 2 theta; numpy or torch, and nothing else of a distribution."""

    def cdf(self, theta):
        return theta**2

    def icdf(self, probability):
        return probability**0.5


class Numpy(Triangle):
    def icdf(self, probability):
        assert isinstance(probability, np.ndarray)
        return np.sqrt(probability)


class Wrong(Triangle):
    def icdf(self, probability):
        return probability


@pytest.mark.parametrize("kind", [Triangle, Numpy])
def test_an_object_with_cdf_and_icdf_is_a_prior(kind):
    prior = as_prior([kind(), kind()])
    theta = torch.tensor([[0.2, 0.9], [0.5, 1.5]], dtype=torch.float64)
    density = prior.log_prob(theta)
    assert density[0].item() == pytest.approx(math.log(2 * 0.2 * 2 * 0.9), abs=1e-6)
    assert density[1].item() == -math.inf
    draws = prior.sample(4000, torch.Generator().manual_seed(0))
    assert scipy.stats.kstest(draws[:, 0].numpy() ** 2, "uniform").pvalue > 1e-4
    again = from_json(prior.to_json())
    assert torch.equal(again.sample(4000, torch.Generator().manual_seed(0)), draws)


def test_a_cdf_and_an_icdf_that_do_not_agree_are_refused():
    with pytest.raises(UnsupportedPrior, match=r"`cdf` and `icdf` of Wrong are not inverse.*at probability"):
        as_prior([Wrong()])


@pytest.mark.parametrize(
    ("base", "low", "high"),
    [
        (td.Normal(1.0, 2.0), 0.0, 3.0),
        (td.Normal(0.0, 1.0), 4.0, math.inf),
        (td.Gamma(2.0, 1.0), 0.5, 2.5),
        (scipy.stats.t(3), -math.inf, -1.0),
    ],
)
def test_a_truncated_distribution_is_the_base_inside_its_bounds(base, low, high):
    prior = as_prior({"k": Truncated(base, low, high)})
    assert prior.names == ("k",)
    draws = prior.sample(3000, torch.Generator().manual_seed(1)).double()
    assert float(draws.min()) >= low
    assert float(draws.max()) <= high
    theirs = {
        "Normal": lambda: scipy.stats.norm(base.loc, base.scale),
        "Gamma": lambda: scipy.stats.gamma(2.0),
    }
    reference = theirs.get(type(base).__name__, lambda: base)()
    mass = reference.cdf(high) - reference.cdf(low)
    expected = reference.logpdf(draws[:50, 0].numpy()) - math.log(mass)
    np.testing.assert_allclose(prior.log_prob(draws[:50]).numpy(), expected, atol=1e-4)
    uniform = (reference.cdf(draws[:, 0].numpy()) - reference.cdf(low)) / mass
    assert scipy.stats.kstest(uniform, "uniform").pvalue > 1e-4
    again = from_json(prior.to_json())
    assert torch.equal(again.sample(3000, torch.Generator().manual_seed(1)).double(), draws)


@pytest.mark.parametrize(("low", "high", "message"), [(3.0, 1.0, "is empty"), (9.0, 12.0, "less than 1e-09")])
def test_bounds_without_mass_are_refused(low, high, message):
    with pytest.raises(UnsupportedPrior, match=message):
        Truncated(td.Normal(0.0, 1.0), low, high)


def test_marginals_with_a_correlation():
    """Gamma coordinates joined by a Gaussian copula: marginals stay, ranks are correlated."""
    prior = Marginals([td.Gamma(2.0, 1.0), td.Gamma(0.7, 3.0)], correlation=[[1.0, 0.8], [0.8, 1.0]])
    theta = prior.sample(10_000, torch.Generator().manual_seed(0)).double()
    assert scipy.stats.kstest(theta[:, 1].numpy(), scipy.stats.gamma(0.7, scale=1 / 3).cdf).pvalue > 1e-4
    spearman = scipy.stats.spearmanr(theta.numpy()).statistic
    assert spearman == pytest.approx(6 / math.pi * math.asin(0.4), abs=0.03)
    # The density integrates to 1, and differs from the product of the marginals.
    independent = Marginals([td.Gamma(2.0, 1.0), td.Gamma(0.7, 3.0)])
    ratio = (prior.log_prob(theta) - independent.log_prob(theta)).exp()
    assert (1 / ratio).mean().item() == pytest.approx(1.0, abs=0.1)
    assert ratio.std() > 0.1
    again = from_json(prior.to_json())
    assert torch.equal(again.log_prob(theta), prior.log_prob(theta))
    with pytest.raises(ValueError, match=r"give a matrix \[2, 2\] with ones"):
        Marginals([td.Gamma(2.0, 1.0)] * 2, correlation=[[2.0, 0.0], [0.0, 1.0]])


def test_the_tall_posterior_under_a_gamma_prior_is_exact():
    """Counts of a Poisson rate with a Gamma prior: the posterior of n counts is Gamma(a + sum, b + n).

    The score of a single count is exact too, by quadrature over the table of the posterior given it, so that only the
    error of the method and that of the prior's own latent space are left.
    """
    a, b, n = 3.0, 2.0, 6
    prior = as_prior({"rate": td.Gamma(a, b)})
    counts = torch.tensor([[2.0], [0.0], [1.0], [3.0], [1.0], [4.0]])
    posterior = TallPosterior(_CountEngine(prior, a, b), 1)
    draws = posterior.sample(counts, 1000, settings={"cov_samples": 200})[:, 0].numpy()
    exact = scipy.stats.gamma(a + counts.sum().item(), scale=1 / (b + n))
    assert draws.mean() == pytest.approx(exact.mean(), abs=0.12 * exact.std())
    assert draws.std() == pytest.approx(exact.std(), rel=0.1)
    assert scipy.stats.kstest(draws, exact.cdf).statistic < 0.06


class _CountScore(Score):
    """The exact diffused score of p(z | one count) on a grid of z, the latent of a Gamma rate."""

    dim, schedule = 1, NETWORK

    def __init__(self, prior):
        self.z = torch.linspace(-4, 4, 601, dtype=torch.float64)
        self.rate = prior.to_parameter(self.z[:, None])[:, 0]

    def bind(self, x):
        return _BoundCountScore(self, x)


class _BoundCountScore(BoundScore):
    def __init__(self, score, x):
        self.n, self.schedule, self.z = x.shape[1], score.schedule, score.z
        likelihood = x[..., 0, None] * score.rate.log() - score.rate
        self.weights = likelihood - 0.5 * self.z.square()

    def __call__(self, theta, t):
        root, variance = self.schedule.sqrt_alpha(t), self.schedule.sigma2(t)
        away = root * self.z - theta[..., None]  # [B, S, 1, K]
        share = torch.softmax(self.weights[:, None] - away.square() / (2 * variance), -1)
        return ((share * away).sum(-1) / variance)[..., None]


@dataclass(frozen=True, eq=False)
class _CountEngine(Engine):
    prior: Marginals
    a: float
    b: float
    dtype: torch.dtype = torch.float64

    def problem(self, x):
        return Problem(_CountScore(self.prior), self.prior, x)

    def to_parameter(self, theta):
        return self.prior.to_parameter(theta)


def test_an_object_with_nothing_but_a_cdf_is_inverted_by_bisection():
    class Logistic:
        def cdf(self, value):
            return 1 / (1 + np.exp(-(np.asarray(value) - 2.0)))

    prior, known = as_prior(Logistic()), scipy.stats.logistic(2.0)
    z = torch.linspace(-4, 4, 17, dtype=torch.float64)
    expected = known.ppf(scipy.stats.norm.cdf(z.numpy()))
    np.testing.assert_allclose(prior.to_parameter(z[:, None])[:, 0].numpy(), expected, rtol=1e-5)
    theta = torch.tensor(known.rvs((50, 1), random_state=np.random.default_rng(0)))
    np.testing.assert_allclose(prior.log_prob(theta).numpy(), known.logpdf(theta.numpy())[:, 0], atol=2e-4)

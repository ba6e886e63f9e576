"""Priors of torch and sbi as ours: the same densities and draws, and back from JSON to the last digit."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
import torch
from sbi.utils import BoxUniform, MultipleIndependent
from torch import distributions as td

from tallsbi import TallPosterior
from tallsbi.algorithms.base import Problem
from tallsbi.api.engine import Engine
from tallsbi.api.priors import UnsupportedPrior, as_prior
from tallsbi.priors.description import from_json, to_json
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import Marginals
from tallsbi.priors.truncation import Truncated
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import NETWORK
from tallsbi.scores.base import BoundScore, Score

COV = torch.tensor([[2.0, 0.6], [0.6, 1.0]])
LOW, HIGH = torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 2.5])

CASES = {
    "MultivariateNormal": (td.MultivariateNormal(LOW, COV), Gaussian),
    "Normal": (td.Independent(td.Normal(LOW, HIGH), 1), Gaussian),
    "Normal, a batch": (td.Normal(LOW, HIGH), Gaussian),
    "LogNormal": (td.Independent(td.LogNormal(LOW, HIGH), 1), LogNormal),
    "Uniform": (td.Independent(td.Uniform(LOW, HIGH), 1), Uniform),
    "BoxUniform": (BoxUniform(LOW, HIGH), Uniform),
    "one number": (td.Uniform(0.0, 2.0), Uniform),
    "Exponential": (td.Exponential(torch.tensor([0.5, 3.0])), Marginals),
    "mixed": (
        MultipleIndependent(
            [
                td.Uniform(torch.tensor([-1.0]), torch.tensor([2.0])),
                td.LogNormal(torch.tensor([0.3]), torch.tensor([0.5])),
                td.Normal(torch.tensor([5.0]), torch.tensor([2.0])),
                td.HalfNormal(torch.tensor([2.0])),
                td.Laplace(torch.tensor([1.0]), torch.tensor([0.3])),
            ]
        ),
        Marginals,
    ),
}


def lognormals():
    """Correlated: exp of a Gaussian."""
    return td.TransformedDistribution(td.MultivariateNormal(LOW, COV), td.ExpTransform())


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


def log_prob(distribution, theta):
    density = distribution.log_prob(theta if theta.shape[-1] > 1 or distribution.event_shape else theta[:, 0])
    return density.sum(-1) if density.ndim == 2 else density


@pytest.mark.parametrize("case", CASES)
def test_the_density_is_the_same(case):
    distribution, kind = CASES[case]
    prior = as_prior(distribution)
    assert isinstance(prior, kind)
    torch.manual_seed(0)
    theta = distribution.sample((200,)).reshape(200, prior.dim)
    torch.testing.assert_close(
        prior.log_prob(theta).float(), log_prob(distribution, theta), rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(prior.to_parameter(prior.to_latent(theta)), theta, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_json_gives_the_same_prior(case):
    prior = as_prior(CASES[case][0])
    again = from_json(prior.to_json())
    theta = prior.sample(20, torch.Generator().manual_seed(0))
    assert torch.equal(theta, again.sample(20, torch.Generator().manual_seed(0)))
    assert torch.equal(prior.log_prob(theta), again.log_prob(theta))


def test_mixed_coordinates_are_standard_normal_in_latent_space():
    prior = as_prior(CASES["mixed"][0])
    torch.manual_seed(1)
    latent = prior.to_latent(CASES["mixed"][0].sample((20_000,)))
    # Standard errors: 0.7 per cent of means and correlations, 1 per cent of variances.
    assert latent.mean(0).abs().max() < 5 * 0.007
    assert (torch.cov(latent.T) - torch.eye(5)).abs().max() < 5 * 0.01
    # Kurtosis 3, standard error 0.035: the shape is normal too.
    assert ((latent**4).mean(0) / latent.var(0) ** 2 - 3).abs().max() < 5 * 0.04
    edge = prior.to_parameter(torch.tensor([[40.0, 40.0, 40.0, 40.0, 40.0], [-40.0] * 5]))
    assert bool(edge.isfinite().all())
    assert bool(prior.log_prob(edge).isfinite().all())


def test_a_list_of_coordinates():
    mixed = as_prior([td.Uniform(0.0, 1.0), td.LogNormal(torch.zeros(2), torch.ones(2))])
    assert isinstance(mixed, Marginals)
    assert mixed.dim == 3
    assert isinstance(as_prior([td.Uniform(0.0, 1.0), td.Uniform(2.0, 3.0)]), Uniform)


def test_outside_the_support_there_is_no_density():
    prior = as_prior(CASES["mixed"][0])
    theta = prior.sample(3, torch.Generator().manual_seed(0))
    theta[0, 0], theta[1, 1] = 2.5, -1.0
    assert prior.log_prob(theta)[:2].tolist() == [-math.inf] * 2
    assert math.isfinite(prior.log_prob(theta)[2])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (td.Poisson(torch.tensor(3.0)), r"Poisson\(rate=3\) has no distribution function"),
        (td.VonMises(torch.tensor(0.0), torch.tensor(1.0)), "VonMises.* has no distribution function"),
        (td.Gamma(0.001, 0.001), "quantile of Gamma.*is 0.*infer a transform of it"),
        (scipy.stats.poisson(3), r"scipy.stats.poisson\(3\).* must be a continuous random number"),
        (td.Gamma(0.02, 1.0), "Gamma.*float32.*infer a transform of it"),
        (scipy.stats.gamma, r"gamma_gen failed.*give a distribution with its parameters"),
        ({}, "builtins.dict is not supported"),
        (
            td.TransformedDistribution(td.MultivariateNormal(LOW, COV), td.StickBreakingTransform()),
            "StickBreakingTransform makes 3 numbers of 2",
        ),
        (
            td.TransformedDistribution(td.Normal(LOW, HIGH), td.AbsTransform()),
            "AbsTransform cannot be undone",
        ),
        (td.Dirichlet(torch.ones(3)), "Dirichlet is not supported.*Infer a transform of the parameter"),
        ("normal", "builtins.str is not supported"),
        ([], "builtins.list is not supported"),
        (td.Normal(torch.zeros(2, 2), torch.ones(2, 2)), r"batch shape \(2, 2\)"),
        (td.MultivariateNormal(torch.zeros(3, 2), torch.eye(2)), r"batch shape \(3,\)"),
        (Gaussian(torch.zeros(3, 2), torch.eye(2).expand(3, 2, 2)), "one prior per dataset"),
    ],
)
def test_unsupported_priors_say_what_to_do(prior, message):
    with pytest.raises(UnsupportedPrior, match=message):
        as_prior(prior)


def test_unknown_descriptions_are_refused():
    with pytest.raises(ValueError, match=r"no prior 'os\.system'"):
        from_json({"kind": "os.system"})
    with pytest.raises(ValueError, match="no coordinate 'Gamma'"):
        from_json({"kind": "Marginals", "coordinates": [{"kind": "Gamma", "dtype": "float32"}]})


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


def test_each_coordinate_may_have_a_transform_of_its_own():
    base = td.MultivariateNormal(LOW, COV)
    prior = as_prior(
        td.TransformedDistribution(base, td.StackTransform([td.ExpTransform(), td.TanhTransform()], dim=-1))
    )
    value = base.sample((100,)).double()
    theta = torch.stack([value[:, 0].exp(), value[:, 1].tanh()], 1)
    # torch itself cannot evaluate this density: by the change of variables.
    expected = base.log_prob(value.float()) - value[:, 0] - torch.log1p(-theta[:, 1].square())
    torch.testing.assert_close(prior.log_prob(theta), expected.double(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(prior.to_latent(theta), value, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(from_json(prior.to_json()).log_prob(theta), prior.log_prob(theta))
    assert prior.log_prob(torch.tensor([[-1.0, 0.5], [1.0, 2.0]])).tolist() == [-math.inf] * 2


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


def test_a_dictionary_names_the_coordinates_and_a_file_keeps_the_names():
    prior = as_prior({"rate": td.Gamma(2.0, 1.0), "place": td.Normal(torch.zeros(2), torch.ones(2))})
    assert prior.names == ("rate", "place[0]", "place[1]")
    assert from_json(to_json(prior)).names == prior.names
    assert isinstance(as_prior({"a": td.Uniform(0.0, 1.0), "b": td.Uniform(1.0, 2.0)}), Uniform)
    with pytest.raises(ValueError, match="give 3 different names"):
        prior.named(["a", "b", "a"])


def test_a_correlated_gaussian_beside_other_coordinates():
    joint = as_prior([td.MultivariateNormal(LOW, COV), td.Beta(2.0, 3.0), td.Uniform(0.0, 1.0), lognormals()])
    assert joint.dim == 6
    theta = joint.sample(20_000, torch.Generator().manual_seed(0)).double()
    correlation = np.corrcoef(theta[:, :2].T.numpy())[0, 1]
    assert correlation == pytest.approx(0.6 / math.sqrt(2), abs=5 / 20_000**0.5)
    expected = td.MultivariateNormal(LOW, COV).log_prob(theta[:, :2].float()).double()
    expected += td.Beta(2.0, 3.0).log_prob(theta[:, 2]) + lognormals().log_prob(theta[:, 4:].float())
    torch.testing.assert_close(joint.log_prob(theta), expected, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(joint.to_parameter(joint.to_latent(theta)), theta, rtol=1e-4, atol=1e-5)
    again = from_json(joint.to_json())
    assert torch.equal(again.sample(20_000, torch.Generator().manual_seed(0)).double(), theta)


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

"""Priors of torch and sbi as ours: the same densities and draws, and back from JSON to the last digit."""

import math

import pytest
import torch
from sbi.utils import BoxUniform, MultipleIndependent
from torch import distributions as td

from tallsbi.api.priors import UnsupportedPrior, as_prior
from tallsbi.priors.description import from_json
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import Marginals
from tallsbi.priors.uniform import Uniform

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
        (
            td.Gamma(torch.ones(2), torch.ones(2)),
            r"torch.distributions.Gamma is not supported; supported are",
        ),
        (td.Dirichlet(torch.ones(3)), "Dirichlet is not supported.*Infer a transform of the parameter"),
        ("normal", "builtins.str is not supported"),
        ([], "builtins.list is not supported"),
        (td.Normal(torch.zeros(2, 2), torch.ones(2, 2)), r"batch shape \(2, 2\)"),
        (td.MultivariateNormal(torch.zeros(3, 2), torch.eye(2)), r"batch shape \(3,\)"),
        (Gaussian(torch.zeros(3, 2), torch.eye(2).expand(3, 2, 2)), "one prior per dataset"),
        (
            MultipleIndependent(
                [td.Gamma(torch.ones(1), torch.ones(1)), td.Normal(torch.zeros(1), torch.ones(1))]
            ),
            "Gamma",
        ),
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

"""Priors of torch and sbi as ours: the same densities and draws, and back from JSON to the last digit."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from prior_examples import COV, HIGH, LOW, log_prob, lognormals
from sbi.utils import BoxUniform, MultipleIndependent
from torch import distributions as td

from tallsbi.api.priors import UnsupportedPrior, as_prior
from tallsbi.priors.description import from_json, to_json
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import Marginals
from tallsbi.priors.uniform import Uniform

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

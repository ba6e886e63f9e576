"""What users hold in their hands prints in one line, without its tensors."""

import pytest
import scipy.stats
import torch
from torch import distributions as td

from tallsbi.api.local_likelihood import LocalLikelihood
from tallsbi.api.priors import as_prior
from tallsbi.api.refined import RefinedPosterior, RefineReport
from tallsbi.priors.gaussian import Gaussian

ZERO, ONE = torch.zeros(2), torch.ones(2)
CORRELATED = td.MultivariateNormal(ZERO, torch.tensor([[4.0, 1.0], [1.0, 1.0]]))
EXP = td.TransformedDistribution(CORRELATED, td.ExpTransform())
PRIORS = {
    "Gaussian prior of 2 correlated parameters: theta_0 ~ Normal(0, 2), theta_1 ~ Normal(0, 1)": CORRELATED,
    "Uniform prior of 2 parameters: a ~ Uniform(0, 1), b ~ Uniform(-0.5, 3)": {
        "a": td.Uniform(0.0, 1.0),
        "b": td.Uniform(-0.5, 3.0),
    },
    "LogNormal prior of 1 parameter: theta_0 ~ LogNormal(0, 0.25)": td.LogNormal(0.0, 0.25),
    "Marginals prior of 2 parameters: rate ~ Exponential(0.5), share ~ scipy.stats.beta(2, 3)": {
        "rate": td.Exponential(0.5),
        "share": scipy.stats.beta(2, 3),
    },
    "Transformed prior of 2 correlated parameters: theta_0, theta_1": EXP,
    "Blocks prior of 3 correlated parameters: theta_0 ~ Normal(0, 2), theta_1 ~ Normal(0, 1), "
    "theta_2 ~ Uniform(0, 1)": [CORRELATED, td.Uniform(0.0, 1.0)],
}


@pytest.mark.parametrize("text", PRIORS)
def test_a_prior_says_its_coordinates(text):
    assert repr(as_prior(PRIORS[text])) == text


def test_a_prior_of_many_coordinates_or_of_many_datasets_stays_short():
    assert repr(Gaussian.standard(30)).endswith("theta_7 ~ Normal(0, 1), ...")
    batch = Gaussian(torch.zeros(5, 2), torch.eye(2).expand(5, 2, 2))
    assert repr(batch) == "Gaussian prior of 2 parameters: theta_0, theta_1"


def test_a_refined_posterior_says_how_it_was_made():
    report = RefineReport("refined", "the check has nothing against the refined posterior", 40, 3000)
    eye = torch.eye(2)
    likelihood = LocalLikelihood(ZERO, eye, eye, eye, eye[None], eye, 2, 0.1)
    posterior = RefinedPosterior(torch.zeros(40, 3), Gaussian.standard(2), report, likelihood, ZERO)
    assert repr(posterior) == (
        "RefinedPosterior of 2 parameters (theta_0, theta_1) given 40 observations, refined: the check has nothing "
        "against the refined posterior"
    )

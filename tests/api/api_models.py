"""A Gaussian model whose tall posterior is known, and posteriors that are exact or quickly trained."""

import math
from dataclasses import dataclass

import torch
from torch import distributions as td

from tallsbi import TallPosterior
from tallsbi.algorithms.base import Problem
from tallsbi.api.engine import Engine
from tallsbi.priors.gaussian import Gaussian, tall_posterior
from tallsbi.schedule import NETWORK
from tallsbi.scores.gaussian import GaussianScore

MEAN, VARIANCE = torch.tensor([1.0, -2.0]), torch.tensor([4.0, 1.0])
FACTOR = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
NOISE = (FACTOR @ FACTOR.T).double()
PRIOR = Gaussian(MEAN.double(), torch.diag(VARIANCE).double())


def simulator(theta):
    return theta + torch.randn_like(theta) @ FACTOR.T


def torch_prior():
    return td.MultivariateNormal(MEAN, torch.diag(VARIANCE))


def datasets(B, n, seed=1):
    """B datasets of n observations, each of a parameter of its own."""
    draws = torch.Generator().manual_seed(seed)
    theta = PRIOR.sample(B, draws)
    noise = torch.randn(B, n, 2, generator=draws, dtype=torch.float64)
    return theta[:, None] + noise @ FACTOR.T.double()


def exact(x):
    """Mean [B, m] and covariance [m, m] of the tall posterior."""
    mean, cov = tall_posterior(PRIOR, NOISE, x.double())
    return mean, cov[0]


def errors(theta, x):
    """Bias of the draws [B, S, m] in posterior standard deviations, and covariance whitened by the exact one."""
    mean, cov = exact(x)
    factor = torch.linalg.cholesky(cov)
    white = torch.linalg.solve_triangular(factor, (theta - mean[:, None]).mT, upper=False).mT
    return white.mean(1), torch.stack([torch.cov(part.mT) for part in white])


@dataclass(frozen=True, eq=False)
class ExactEngine(Engine):
    """The exact score of the model in place of a network: what is left is the error of the method."""

    prior: Gaussian = PRIOR
    dtype: torch.dtype = torch.float64

    def problem(self, x):
        # In units of the prior, where the diffusion covers it.
        scale = VARIANCE.double().sqrt()
        prior = self.prior.normalised(MEAN.double(), scale)
        score = GaussianScore(prior, NOISE / (scale[:, None] * scale), NETWORK)
        return Problem(score, prior, (x - MEAN) / scale)

    def to_parameter(self, theta):
        return theta * VARIANCE.double().sqrt() + MEAN


def exact_posterior():
    return TallPosterior(ExactEngine(), 2)


def quick_fit(source=simulator, **settings):
    defaults = {
        "simulations": 400,
        "epochs": 3,
        "hidden": (8, 8),
        "batch_size": 64,
        "early_stopping": False,
    }
    return TallPosterior.fit(torch_prior(), source, **{**defaults, **settings})


def false_alarm(B, S, probability=1e-6):
    """How large the largest of 2 B standardised means of S draws may be, by chance once in a million."""
    return td.Normal(0.0, 1.0).icdf(torch.tensor(1 - probability / (4 * B))).item() / math.sqrt(S)

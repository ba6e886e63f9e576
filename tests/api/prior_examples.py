"""Distributions of torch that several tests of priors share."""

import torch
from torch import distributions as td

COV = torch.tensor([[2.0, 0.6], [0.6, 1.0]])
LOW, HIGH = torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 2.5])


def lognormals():
    """Correlated: exp of a Gaussian."""
    return td.TransformedDistribution(td.MultivariateNormal(LOW, COV), td.ExpTransform())


def log_prob(distribution, theta):
    """The log density of rows [N, m]; coordinates of a batch are independent."""
    density = distribution.log_prob(theta if theta.shape[-1] > 1 or distribution.event_shape else theta[:, 0])
    return density.sum(-1) if density.ndim == 2 else density

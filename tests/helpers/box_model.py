"""A uniform prior on a box with a Gaussian likelihood: every score and every posterior in closed form.

x | theta ~ N(theta, diag(noise)), theta uniform on [-edge, edge]^m. theta_0 given theta_t and x_j is, coordinate
by coordinate, a truncated normal; its mean gives the score and its variance the Jacobian (Tweedie). The tall
posterior is a truncated normal around the mean of the observations.
"""

import math

import numpy as np
import scipy.stats
import torch

from tallsbi.algorithms.base import Problem
from tallsbi.priors.truncated import truncated_normal_moments
from tallsbi.priors.uniform import Uniform
from tallsbi.schedule import NETWORK
from tallsbi.scores.base import BoundScore, Score

EDGE = math.sqrt(3.0)  # unit variance, as after normalisation


class BoxScore(Score):
    def __init__(self, noise, schedule=NETWORK):
        self.noise, self.schedule, self.dim = noise, schedule, len(noise)

    def bind(self, x):
        return _Bound(self, x)


class _Bound(BoundScore):
    def __init__(self, score, x):
        self.score, self.x, self.n, self.schedule = score, x, x.shape[1], score.schedule

    def _moments(self, theta, t):
        a, v = self.schedule.sqrt_alpha(t), self.schedule.sigma2(t)
        precision = 1 / self.score.noise + a * a / v
        centre = (self.x[:, None] / self.score.noise + (a / v) * theta[:, :, None]) / precision
        sd = precision.rsqrt()
        _, mean, variance = truncated_normal_moments((-EDGE - centre) / sd, (EDGE - centre) / sd)
        return centre + sd * mean, sd.square() * variance

    def __call__(self, theta, t):
        return self.with_jacobian(theta, t)[0]

    def with_jacobian(self, theta, t):
        a, v = self.schedule.sqrt_alpha(t), self.schedule.sigma2(t)
        mean, variance = self._moments(theta.double(), t)
        score = (a * mean - theta.double()[:, :, None]) / v
        jacobian = torch.diag_embed((a * a * variance / v - 1) / v)
        return score.to(theta.dtype), jacobian.to(theta.dtype)


def box_problem(n, centre, noise, seed=0, dtype=torch.float64):
    """One dataset of n observations around `centre`."""
    rng = np.random.default_rng([seed, n])
    noise, centre = np.asarray(noise), np.asarray(centre)
    x = torch.from_numpy(centre + np.sqrt(noise) * rng.standard_normal((1, n, len(noise)))).to(dtype)
    bound = torch.full((len(noise),), EDGE, dtype=dtype)
    return Problem(BoxScore(torch.from_numpy(noise).to(dtype)), Uniform(-bound, bound), x)


def wasserstein(draws, problem):
    """W1 of each coordinate of draws [S, m] to the exact tall posterior, in its standard deviations."""
    draws, x, noise = (value.double().numpy() for value in (draws, problem.x[0], problem.score.noise))
    levels = (np.arange(len(draws)) + 0.5) / len(draws)
    distances = []
    for k in range(draws.shape[1]):
        mean, sd = x[:, k].mean(), math.sqrt(noise[k] / len(x))
        law = scipy.stats.truncnorm((-EDGE - mean) / sd, (EDGE - mean) / sd, mean, sd)
        distances.append(np.abs(np.sort(draws[:, k]) - law.ppf(levels)).mean() / law.std())
    return np.array(distances)

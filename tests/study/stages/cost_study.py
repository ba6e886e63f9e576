"""A network without training, algorithms whose draws are known, and settings of the studies of cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from oracles import healthy
from settings import methods

from tallsbi.algorithms.base import Algorithm
from tallsbi.samplers.base import Samples
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.scores.normaliser import Normaliser
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.time import TimeSettings
from tallsbi.study.stages.simulate import simulations
from tallsbi.study.tasks import load

TASK = "gaussian_linear"
PAUSE = 0.02  # seconds per time step of `Known`
CALLS: list[SimpleNamespace] = []


def timing(options, **plan):
    """Settings of a study of cost; `options` by method."""
    shared = {"seed": 3, "device": "cpu", "dtype": "float32", "n_train": 50, "bounds_factor": 2.0}
    metrics = {"projections": 20, "self_distances": 2}
    return TimeSettings(
        problem=ProblemSettings(TASK), methods=methods(**options), **shared, **metrics, **plan
    )


@dataclass(frozen=True, kw_only=True)
class Known(Algorithm):
    """Every draw is `value` in the network's space; with a single step the first draw is lost."""

    value: float = 0.0

    @property
    def score_evaluations(self):
        return 7 * self.steps

    def sample(self, problem, samples, noise, progress=iter):
        CALLS.append(SimpleNamespace(steps=self.steps, value=self.value, x=problem.x))
        time.sleep(PAUSE * self.steps)
        theta = torch.full((problem.datasets, samples, problem.score.dim), self.value)
        if self.steps == 1:
            theta[:, 0] = torch.nan
        return Samples(theta, healthy(problem.datasets))


@dataclass(frozen=True, kw_only=True)
class FromPrior(Algorithm):
    """Draws of the prior, whatever the data: calibrated, but for a third of the spread from `narrow_from` on."""

    narrow_from: int = 10**9  # observations

    @property
    def score_evaluations(self):
        return self.steps

    def sample(self, problem, samples, noise, progress=iter):
        B, n, _ = problem.x.shape
        factor = 1 / 3 if n >= self.narrow_from else 1.0
        mean, cov = problem.prior.latent_mean()[0], problem.prior.covariance()[0]
        draws = noise(B, samples, problem.score.dim)
        theta = mean + factor * draws @ torch.linalg.cholesky(cov).mT.to(draws)
        return Samples(theta.float(), healthy(B))


def network(name=TASK, hidden=(16,)):
    task = load(name)
    data = simulations(task, 50, 1)
    latent = task.prior.to_latent(torch.from_numpy(data.theta.values))
    normaliser = Normaliser.fit(latent, torch.from_numpy(data.x.values), log_x=task.log_x)
    architecture = Architecture(task.dim_theta, task.dim_x, hidden)
    net = ScoreNetwork(architecture, torch.Generator().manual_seed(0))
    return SavedNetwork(net.requires_grad_(False), normaliser, NETWORK, name, torch.zeros(1))


def constant_distance(saved, value, draws, projections, directions):
    """sW of draws that are all equal, from its definition: the one-dimensional W2 is a mean square."""
    from ot.sliced import get_random_projections

    point = saved.normaliser.latent(torch.full((draws.shape[1],), value).double()).numpy()
    axes = get_random_projections(draws.shape[1], projections, directions)
    return np.sqrt(np.square((draws - point) @ axes).mean())

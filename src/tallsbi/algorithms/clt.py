"""CLT: the mean of learnt summaries, normal by the central limit theorem, instead of a composed score.

Its cost hardly grows with n, and errors of single scores do not add up (see `tallsbi.summaries`). It needs
summaries that were learnt beside the network, and more than a few observations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Likelihood, Problem
from tallsbi.priors.base import Prior
from tallsbi.progress import Progress
from tallsbi.samplers.base import Health, Noise, Samples
from tallsbi.samplers.particles import Particles, temper
from tallsbi.shapes import States


@runtime_checkable
class Beginning(Protocol):
    """A law with a density, which the particles begin with."""

    def draw(self, prior: States, noise: Noise) -> States: ...

    def log_prob(self, theta: States, prior: Callable[[Tensor], Tensor]) -> Tensor: ...


@runtime_checkable
class LikelihoodWithBeginning(Likelihood, Protocol):
    @property
    def beginning(self) -> Beginning: ...

    @property
    def depends_on_place(self) -> bool:
        """Whether `near` gives another likelihood."""

    def near(self, theta: States) -> LikelihoodWithBeginning:
        """As it is for datasets with such draws."""


@dataclass(frozen=True, kw_only=True)
class CLT(Algorithm):
    """At least `particles` particles move together, or 16 + 24 m where that is less, and as many as draws asked for.

    `moves`: Langevin steps after each rise of the likelihood's power; `steps`: Langevin steps at the end.
    """

    steps: int = 20
    particles: int = 512
    moves: int = 6

    true_prior = True

    @property
    def score_evaluations(self) -> int:
        return 0

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        likelihood = problem.likelihood
        if not isinstance(likelihood, LikelihoodWithBeginning):
            raise ValueError(
                "method CLT needs summaries that were learnt beside the network, with fit(..., summaries=True); none "
                "are learnt with conditions, with dropped failures, or where single posteriors have two modes: choose "
                "GAUSS_PD."
            )
        prior = problem.prior
        if not isinstance(prior, Prior):
            raise ValueError(
                "method CLT needs a prior with a density; a learned prior has none: choose GAUSS_PD."
            )
        m = prior.dim
        least = min(self.particles, 16 + 24 * m)  # enough for a covariance
        if likelihood.depends_on_place:  # a few rough draws tell where the posteriors are
            rough = self._draws(likelihood, prior, problem.datasets, least // 2, noise, self.moves // 2, 5)
            likelihood = likelihood.near(rough)
        count = max(samples, least)
        theta = self._draws(likelihood, prior, problem.datasets, count, noise, self.moves, self.steps)
        # In a random order: neighbours may share an ancestor.
        order = noise(problem.datasets, count, 1)[..., 0].argsort(1)[:, :samples]
        theta = theta.gather(1, order[..., None].expand(-1, -1, m))
        no_events = torch.zeros(len(theta), dtype=torch.int64)
        lost = (~theta.isfinite().all(-1)).sum(1).cpu()
        times = torch.full((len(theta),), torch.nan, dtype=torch.float64)
        return Samples(theta, Health(no_events, times, lost, times))

    def _draws(
        self,
        likelihood: LikelihoodWithBeginning,
        prior: Prior,
        datasets: int,
        count: int,
        noise: Noise,
        moves: int,
        last_moves: int,
    ) -> States:
        beginning = likelihood.beginning

        def start(theta: States) -> Tensor:
            return beginning.log_prob(theta, prior.log_prob)

        def posterior(theta: States) -> Tensor:
            return likelihood.log_prob(theta) + prior.log_prob(theta)

        first = beginning.draw(_start(prior, datasets, count, noise), noise)
        return temper(Particles(first, posterior, start, noise), moves, last_moves)


def _start(prior: Prior, datasets: int, count: int, noise: Noise) -> States:
    prior = prior.to(device=noise.generators[0].device)  # drawn where the generators are
    if len(noise.generators) == 1:
        start = prior.sample(datasets * count, noise.generators[0]).float().unflatten(0, (datasets, count))
    else:
        start = torch.stack([prior.sample(count, generator).float() for generator in noise.generators])
    return start.to(noise.device)


ALGORITHM = CLT

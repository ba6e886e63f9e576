"""JAC: precision weights from the Jacobian of the score, sampled by DDIM (the paper's other proposal)."""

from __future__ import annotations

from dataclasses import dataclass

from tallsbi.algorithms.base import Problem, WeightedAlgorithm
from tallsbi.compose.jac import JacScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.samplers.ddim import DDIM


@dataclass(frozen=True, kw_only=True)
class Jac(WeightedAlgorithm):
    @property
    def score_evaluations(self) -> int:
        return self.steps

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        single = problem.score.bind(problem.x)
        tall = JacScore(single, problem.prior, problem.datasets, self.switch_over)
        return DDIM(steps=self.steps, clip=self.clip, eta=self.churn).run(tall, samples, noise, progress)


ALGORITHM = Jac

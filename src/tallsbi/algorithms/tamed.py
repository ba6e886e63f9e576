"""TAMED: F-NPSE's sum of scores under tamed Langevin dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.samplers.tamed import TamedLangevin


@dataclass(frozen=True, kw_only=True)
class Tamed(Algorithm):
    inner_steps: int = 5
    ratio: float = 0.5

    @property
    def score_evaluations(self) -> int:
        return self.steps * self.inner_steps

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        tall = FactorisedScore(problem.score.bind(problem.x), problem.prior, problem.datasets)
        runner = TamedLangevin(
            steps=self.steps, clip=self.clip, inner_steps=self.inner_steps, ratio=self.ratio
        )
        return runner.run(tall, samples, noise, progress)


ALGORITHM = Tamed

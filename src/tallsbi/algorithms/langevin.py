"""LANGEVIN: F-NPSE's sum of scores under annealed Langevin dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.samplers.langevin import Langevin


@dataclass(frozen=True, kw_only=True)
class LangevinAlgorithm(Algorithm):
    inner_steps: int = 5
    tau: float = 0.5

    @property
    def score_evaluations(self) -> int:
        return self.steps * self.inner_steps

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        tall = FactorisedScore(problem.score.bind(problem.x), problem.prior, problem.datasets)
        runner = Langevin(steps=self.steps, clip=self.clip, inner_steps=self.inner_steps, tau=self.tau)
        return runner.run(tall, samples, noise, progress)


ALGORITHM = LangevinAlgorithm

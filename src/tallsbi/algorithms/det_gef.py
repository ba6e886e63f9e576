"""DET_GEF: the Langevin-free sampler of Geffner et al. 2023, appendix D."""

from __future__ import annotations

from dataclasses import dataclass

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Samples
from tallsbi.samplers.det_gef import DetGef


@dataclass(frozen=True, kw_only=True)
class DetGefAlgorithm(Algorithm):
    @property
    def score_evaluations(self) -> int:
        return self.steps

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        tall = FactorisedScore(problem.score.bind(problem.x), problem.prior, problem.datasets)
        return DetGef(steps=self.steps, clip=self.clip).run(tall, samples, noise, progress)


ALGORITHM = DetGefAlgorithm

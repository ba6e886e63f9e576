"""F-NPSE's baselines: the plain sum of scores, under a sampler whose settings are those of the algorithm."""

from dataclasses import dataclass

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Sampler, Samples


@dataclass(frozen=True, kw_only=True)
class SummedScores(Algorithm, Sampler):
    """To be combined with a sampler: `class LangevinAlgorithm(SummedScores, Langevin)`."""

    @property
    def score_evaluations(self) -> int:
        return self.evaluations

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        tall = FactorisedScore(problem.score.bind(problem.x), problem.prior, problem.datasets)
        return self.run(tall, samples, noise, progress)

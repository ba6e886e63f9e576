"""F-NPSE's baselines: the plain sum of scores, under a sampler whose settings are those of the algorithm."""

from dataclasses import dataclass

from tallsbi.algorithms.base import Algorithm, Problem
from tallsbi.compose.fnpse import DIFFUSED, FactorisedScore
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Sampler, Samples


@dataclass(frozen=True, kw_only=True)
class SummedScores(Algorithm, Sampler):
    """To be combined with a sampler: `class DetGefAlgorithm(SummedScores, DetGef)`."""

    prior_term = DIFFUSED  # without an annotation: not a setting here

    @property
    def score_evaluations(self) -> int:
        return self.evaluations

    def sample(self, problem: Problem, samples: int, noise: Noise, progress: Progress = iter) -> Samples:
        tall = FactorisedScore(
            problem.score.bind(problem.x), problem.prior, problem.datasets, self.prior_term
        )
        return self.run(tall, samples, noise, progress)


@dataclass(frozen=True, kw_only=True)
class AlongPath(SummedScores):
    """The same for a sampler that follows any path: `prior_term` is that of `tallsbi.compose.fnpse`."""

    prior_term: str = DIFFUSED

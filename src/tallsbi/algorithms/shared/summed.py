"""F-NPSE's baselines: the plain sum of scores, under a sampler whose settings are those of the algorithm."""

from dataclasses import dataclass

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.shared.composed import ComposedAlgorithm
from tallsbi.compose.fnpse import DIFFUSED, FactorisedScore
from tallsbi.samplers.base import Noise, Sampler


@dataclass(frozen=True, kw_only=True)
class SummedScores(ComposedAlgorithm, Sampler):
    """To be combined with a sampler: `class DetGefAlgorithm(SummedScores, DetGef)`."""

    prior_term = DIFFUSED  # without an annotation: not a setting here

    @property
    def score_evaluations(self) -> int:
        return self.evaluations

    @property
    def sampler(self) -> Sampler:
        return self

    def tall(self, problem: Problem, samples: int, noise: Noise) -> FactorisedScore:
        return FactorisedScore(
            problem.score.bind(problem.x), problem.prior, problem.datasets, self.prior_term
        )


@dataclass(frozen=True, kw_only=True)
class AlongPath(SummedScores):
    """The same for a sampler that follows any path: `prior_term` is that of `tallsbi.compose.fnpse`."""

    prior_term: str = DIFFUSED

"""JAC: precision weights from the Jacobian of the score, sampled by DDIM (the paper's algorithm 1)."""

from dataclasses import dataclass

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.shared.weighted import WeightedAlgorithm
from tallsbi.compose.jac import JacScore
from tallsbi.samplers.base import Noise


@dataclass(frozen=True, kw_only=True)
class Jac(WeightedAlgorithm):
    @property
    def score_evaluations(self) -> int:
        return self.steps

    def tall(self, problem: Problem, samples: int, noise: Noise) -> JacScore:
        single = problem.score.bind(problem.x)
        return JacScore(single, problem.prior, problem.datasets, self.switch_over)


ALGORITHM = Jac

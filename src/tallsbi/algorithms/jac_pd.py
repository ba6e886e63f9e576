"""JAC_PD: JAC with capped covariances, true prior bounds and a second-order solver.

Lambda is positive definite by construction and draws are inside the prior's support (see
`tallsbi.compose.jac_pd` and `tallsbi.samplers.multistep`).
"""

from dataclasses import dataclass

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.shared.positive_definite import PositiveDefiniteAlgorithm
from tallsbi.compose.jac_pd import JacPDScore
from tallsbi.compose.loewner import bind_blocks
from tallsbi.samplers.base import Noise

_OBSERVATIONS = 100  # evaluated at once; samples are taken in blocks as well


@dataclass(frozen=True, kw_only=True)
class JacPD(PositiveDefiniteAlgorithm):
    @property
    def score_evaluations(self) -> int:
        return self.steps

    def tall(self, problem: Problem, samples: int, noise: Noise) -> JacPDScore:
        blocks = bind_blocks(problem.score, problem.x, _OBSERVATIONS)
        return JacPDScore(blocks, problem.prior, problem.datasets, self.narrowest)


ALGORITHM = JacPD

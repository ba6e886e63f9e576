"""GAUSS_PD: GAUSS with capped covariances, true prior bounds and a second-order solver.

Lambda is positive definite by construction and draws are inside the prior's support, or within six of its standard
deviations where that has no bounds (see `tallsbi.compose.gauss_pd` and `tallsbi.samplers.multistep`), so few steps
suffice and none diverges.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.shared.covariances import EstimatesCovariances, whitened_draws
from tallsbi.algorithms.shared.positive_definite import PositiveDefiniteAlgorithm
from tallsbi.compose.base import TallScore
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss_pd import GaussPDScore
from tallsbi.compose.loewner import bind_blocks
from tallsbi.samplers.base import Noise

_SCORES_AT_ONCE = 4_000_000  # numbers in the scores of a block


@dataclass(frozen=True, kw_only=True)
class GaussPD(EstimatesCovariances, PositiveDefiniteAlgorithm):
    """`cov_*`: the deterministic run per observation that the covariances are estimated from.

    `narrowest` and `widest` bound those covariances relative to the prior's. `churn` repairs what the Gaussian
    approximation of the kernels gets wrong, and follows the errors of a network more closely. 0.5 was chosen on five
    tasks (`docs/research.md`): 0 and 0.1 are far worse where posteriors are not Gaussian, 1 is a little closer on
    average and more overconfident where the network is wrong.
    """

    steps: int = 50
    churn: float = 0.5
    narrowest: float = 1e-6
    widest: float = 1.0

    def tall(self, problem: Problem, samples: int, noise: Noise) -> TallScore:
        B, n, _ = problem.x.shape
        if n == 1:  # the plain score needs no weights
            return FactorisedScore(problem.score.bind(problem.x), problem.prior, B)
        covariances = self.estimate(problem, noise)
        size = max(1, _SCORES_AT_ONCE // (B * samples * problem.score.dim))
        return GaussPDScore(
            bind_blocks(problem.score, problem.x, size),
            problem.prior,
            covariances,
            problem.x.dtype,
            self.narrowest,
            self.widest,
        )

    def _single_draws(self, problem: Problem, noise: Noise) -> Float[Tensor, "Bn S m"]:
        return whitened_draws(problem, noise, self.cov_steps, self.cov_samples)


ALGORITHM = GaussPD

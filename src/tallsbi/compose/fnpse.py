"""F-NPSE: the plain sum of scores (equation (9) of the paper, after Geffner et al. 2023).

    s(theta, t) = sum_j s_j(theta, t) + (1 - n) s_prior(theta, t)

with the diffused prior score. At t -> 0 this is the score of the tall posterior; at t > 0 it is not the
score of any forward diffusion, which is why Langevin steps go with it.
"""

from tallsbi.compose.base import TallScore
from tallsbi.shapes import States


class FactorisedScore(TallScore):
    """Sum of the single scores with the prior counted once."""

    def parts(self, theta: States, t: float) -> tuple[States, States]:
        """The sum of the single scores, and (1 - n) times the prior score."""
        total = self.single.total(theta, t)
        if self.n == 1:
            return total, total.new_zeros(()).expand_as(total)
        return total, (1 - self.n) * self.prior.diffused_score(theta, t, self.schedule)

    def __call__(self, theta: States, t: float) -> States:
        total, prior = self.parts(theta, t)
        return total + prior

"""F-NPSE: the plain sum of scores (equation (9) of the paper, after Geffner et al. 2023).

    s(theta, t) = sum_j s_j(theta, t) + (1 - n) s_prior(theta, t)

with the diffused prior score, as in the code behind the paper's numbers. The paper's text has (1 - n)(1 - t) times the
score of the prior that is not diffused (`ANNEALED`): another path, with the same end. At t -> 0 both are the score of
the tall posterior; at t > 0 they are not the score of any forward diffusion, so that Langevin steps are used with them.
"""

from tallsbi.compose.base import TallScore
from tallsbi.priors.base import DiffusedPrior
from tallsbi.scores.base import BoundScore
from tallsbi.shapes import States

DIFFUSED, ANNEALED = "diffused", "annealed"
# In standard deviations of the noise at t = 0: so far inside, the diffused density does not see the edge of the box.
_MARGIN = 10.0


class FactorisedScore(TallScore):
    """Sum of the single scores with the prior counted once; `prior_term` says along which path."""

    _per_dataset = ()

    def __init__(
        self, single: BoundScore, prior: DiffusedPrior, datasets: int, prior_term: str = DIFFUSED
    ) -> None:
        super().__init__(single, prior, datasets)
        if prior_term not in (DIFFUSED, ANNEALED):
            raise ValueError(f"prior_term = {prior_term!r}: must be one of {DIFFUSED}, {ANNEALED}.")
        self.prior_term = prior_term

    def parts(self, theta: States, t: float) -> tuple[States, States]:
        """The sum of the single scores, and the term of the prior."""
        total = self.single.total(theta, t)
        if self.n == 1:
            return total, total.new_zeros(()).expand_as(total)
        if self.prior_term == ANNEALED:
            return total, (1 - self.n) * (1 - t) * self._undiffused(theta)
        return total, (1 - self.n) * self.prior.diffused_score(theta, t, self.schedule)

    def _undiffused(self, theta: States) -> States:
        """Score of the prior itself; outside of its support, where there is none, that of the nearest point inside."""
        box = self.prior.support()
        if box is not None:
            margin = _MARGIN * self.schedule.sigma(0.0)
            theta = theta.clamp((box[0] + margin).to(theta), (box[1] - margin).to(theta))
        return self.prior.diffused_score(theta, 0.0, self.schedule)

    def __call__(self, theta: States, t: float) -> States:
        total, prior = self.parts(theta, t)
        return total + prior

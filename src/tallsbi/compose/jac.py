"""JAC: backward precisions from the Jacobian of the score (algorithm 1 and equation (13) of the paper).

The backward covariance is (sigma^2 / alpha)(I + sigma^2 J_j) with J_j the Jacobian of the score in theta
(Tweedie's second-order formula), so P_j = (alpha / sigma^2)(I + sigma^2 J_j)^-1. No symmetrisation, no
regularisation, and no gradient through P_j, as in the paper.
"""

import torch

from tallsbi.compose.base import WeightedScore, sample_blocks
from tallsbi.linalg.batched import excess_sums
from tallsbi.shapes import States


class JacScore(WeightedScore):
    """Precision-weighted composition with Jacobian covariances."""

    _per_dataset = ()

    def _weighted(self, theta: States, t: float) -> States:
        B, S, m = theta.shape
        ratio, sigma2 = self.schedule.alpha(t) / self.schedule.sigma2(t), self.schedule.sigma2(t)
        score_sum, weighted_sum = torch.empty_like(theta), torch.empty_like(theta)
        excess_sum = theta.new_empty(B, S, m, m)
        for block in sample_blocks(theta, self.n):
            scores, jacobian = self.single.with_jacobian(theta[:, block], t)
            excess, weighted = excess_sums(scores, jacobian, sigma2)
            score_sum[:, block] = scores.sum(2)
            excess_sum[:, block] = excess.mul_(ratio)
            weighted_sum[:, block] = weighted.mul_(ratio)
        return self._solve(theta, t, score_sum, excess_sum, weighted_sum)

"""GAUSS: backward precisions from estimated posterior covariances (algorithm 2 and equation (13) of the paper).

P_j = C_j^-1 + (alpha / sigma^2) I with C_j the covariance of the single-observation posterior, exact when
prior and posteriors are Gaussian. The excess precisions C_j^-1 do not depend on theta or t: their sum is
formed once.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.compose.base import WeightedScore
from tallsbi.priors.base import DiffusedPrior
from tallsbi.scores.base import BoundScore
from tallsbi.shapes import States


class GaussScore(WeightedScore):
    """Precision-weighted composition with constant covariances C_j [B, n, m, m]."""

    _per_dataset = ("_excess_sum", "_stacked")

    def __init__(
        self,
        single: BoundScore,
        prior: DiffusedPrior,
        covariances: Float[Tensor, "B n m m"],
        dtype: torch.dtype,
        switch_over: float = 0.0,
    ) -> None:
        super().__init__(single, prior, covariances.shape[0], switch_over)
        excess, _ = torch.linalg.inv_ex(covariances.double())
        self._excess_sum = excess.sum(1, keepdim=True).to(dtype)
        # Stacked so that sum_j E_j s_j is one matrix product over (observation, coordinate).
        self._stacked = excess.mT.flatten(1, 2).to(dtype)

    def _weighted(self, theta: States, t: float) -> States:
        scores = self.single(theta, t)
        weighted_sum = scores.flatten(2) @ self._stacked
        return self._solve(theta, t, scores.sum(2), self._excess_sum, weighted_sum)

"""The prior as a network without context sees it: guidance for priors without a formula (appendix of the paper).

Its diffused score is the network's without context (`tallsbi.scores.context`), and its precision that of samples
drawn with this score. It offers what a composition needs and no more: to sample and to evaluate a density, ask the
prior the network was trained with.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import DiffusedPrior
from tallsbi.schedule import Schedule
from tallsbi.scores.base import Score
from tallsbi.shapes import Precisions, States


class LearnedPrior(DiffusedPrior):
    """In the normalised space of the network; `empty` is an observation without context."""

    constant_precision = True

    def __init__(self, score: Score, empty: Float[Tensor, "1 1 e"], covariance: Float[Tensor, "m m"]) -> None:
        self.score, self.empty, self.dim = score, empty, score.dim
        self._covariance = covariance.double()[None]
        self.excess = torch.linalg.inv(covariance.double()).to(empty.dtype)[None, None]

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        # All samples of all datasets are samples of one dataset here: they share the context.
        flat = theta.reshape(1, -1, self.dim)
        return self.score(flat, self.empty, t)[:, :, 0].reshape(theta.shape), self.excess

    def covariance(self) -> Float[Tensor, "#B m m"]:
        return self._covariance

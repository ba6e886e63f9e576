"""Networks that also know the prior: classifier-free guidance (appendix of the paper).

During training the context of a row is dropped with some probability, so that the network learns the score of
the prior beside that of the posterior. Whether there is a context is an input of its own, one more column of
x: 1 with, 0 without, all other columns then 0. (A zero alone would be an average observation.)

`LearnedPrior` makes a prior of such a network: its diffused score is the network's without context, and its
precision that of its own samples.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tallsbi.priors.base import Prior
from tallsbi.schedule import Schedule
from tallsbi.scores.base import Score


def with_context(x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b e"]:
    """x with the column that says there is a context."""
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)


def dropped(x: Float[Tensor, "N d"], drop: Bool[Tensor, "N"]) -> Float[Tensor, "N e"]:
    """`with_context` for the rows that keep theirs, zeros for those that drop it."""
    return with_context(x) * (~drop)[:, None]


class LearnedPrior(Prior):
    """The prior as a network without context sees it, in the normalised space it was trained in.

    It knows the score and a covariance, and no more: to sample and to evaluate a density, ask the prior the
    network was trained with.
    """

    is_gaussian = True  # its precision is that of a Gaussian: the same for every theta

    def __init__(self, score: Score, empty: Float[Tensor, "1 1 e"], covariance: Float[Tensor, "m m"]) -> None:
        self.score, self.empty, self.dim = score, empty, score.dim
        self.excess = torch.linalg.inv(covariance.double()).to(empty.dtype)[None, None]

    def score_and_excess(
        self, theta: Float[Tensor, "B S m"], t: float, schedule: Schedule
    ) -> tuple[Float[Tensor, "B S m"], Float[Tensor, "#B #S m m"]]:
        # All samples of all datasets are samples of one dataset here: they share the context.
        flat = theta.reshape(1, -1, self.dim)
        return self.score(flat, self.empty, t)[:, :, 0].reshape(theta.shape), self.excess

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        raise NotImplementedError("a learned prior has a score only; sample the prior it was learned from")

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        raise NotImplementedError("a learned prior has a score only, no density")

    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Prior:
        raise NotImplementedError("a learned prior lives in the normalised space already")

    def to(
        self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
    ) -> LearnedPrior:
        raise NotImplementedError("convert the network instead")

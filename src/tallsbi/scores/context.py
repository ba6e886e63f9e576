"""Networks that also know the prior: classifier-free guidance (appendix of the paper).

During training the context of a row is dropped with some probability, so that the network learns the score of
the prior beside that of the posterior. Whether there is a context is an input of its own, one more column of
x: 1 with, 0 without, all other columns then 0. (A zero alone would be an average observation.)

`tallsbi.scores.learned_prior` makes a prior of such a network.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def with_context(x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b e"]:
    """x with the column that says there is a context."""
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)


def dropped(x: Float[Tensor, "N d"], drop: Bool[Tensor, "N"]) -> Float[Tensor, "N e"]:
    """`with_context` for the rows that keep theirs, zeros for those that drop it."""
    return with_context(x) * (~drop)[:, None]

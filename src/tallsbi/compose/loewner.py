"""Precisions that keep the Loewner order: no observation says less than the prior alone.

With r = alpha / sigma^2 the prior's backward kernel has the precision P_prior = r I + E_prior. That of
observation j is written as

    P_j = P_prior + G_j,   G_j >= 0,

G_j the gain of observation j. Equation (16) of the paper then needs no difference of precisions:

    Lambda = P_prior + sum_j G_j >= P_prior > 0,   s = s_prior + Lambda^-1 sum_j P_j (s_j - s_prior)

for every n and t. The gain comes from a covariance V_j: with C the prior's and W = C^-1/2 V_j C^-1/2, the
eigenvalues of W are clipped into (0, 1] and G_j = C^-1/2 (W^-1 - I) C^-1/2. Where V_j is below the prior in the
Loewner order, as it is in exact Gaussian models, nothing changes.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.scores.base import BoundScore, Score
from tallsbi.shapes import Observations


def gains(
    relative: Float[Tensor, "*batch m m"],
    root: Float[Tensor, "*#batch m m"],
    narrowest: float | Tensor,
    widest: float = 1.0,
) -> Float[Tensor, "*batch m m"]:
    """R (W^-1 - I) R' with the eigenvalues of W clipped into [narrowest, widest].

    `root` is R with R R' the prior's precision, and `relative` holds W = R' V R, of which the symmetric part counts.
    A W that is not finite gives a gain that is not finite: a diverging run is a result.
    """
    # A tensor is a number that has been checked and stayed on its device.
    if not isinstance(narrowest, Tensor) and not 0 < narrowest <= widest <= 1:
        raise ValueError(
            f"narrowest={narrowest}, widest={widest}: covariances relative to the prior's, "
            "0 < narrowest <= widest <= 1."
        )
    finite = relative.isfinite().all(-1).all(-1)[..., None, None]
    symmetric = torch.where(finite, 0.5 * (relative + relative.mT), 0.0)
    values, vectors = torch.linalg.eigh(symmetric)
    # A matrix times its transpose: symmetric and without negative eigenvalues whatever the rounding.
    half = root @ (vectors * (1 / values.clamp_min(narrowest).clamp_max(widest) - 1).sqrt()[..., None, :])
    return torch.where(finite, half @ half.mT, torch.nan)


def bind_blocks(score: Score, x: Observations, size: int) -> list[BoundScore]:
    """The observations in blocks of at most `size`: memory is then bounded in n."""
    return [score.bind(part) for part in x.split(size, 1)]

"""TARP: coverage of all coordinates at once, by distances to random points (Lemos et al., 2023).

For each pair (theta, dataset) a random point is chosen without looking at the dataset; the share of draws closer to it
than theta is the credibility of the ball through theta. If the draws are of the posterior, credibilities are uniform.
Unlike ranks coordinate by coordinate, this sees a wrong dependence between coordinates.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


def credibilities(
    theta: Float[Tensor, "N m"], drawn: Float[Tensor, "N S m"], generator: torch.Generator
) -> Float[np.ndarray, "N"]:
    """One per pair; the point is the parameter of another pair. Ties of S draws are broken at random."""
    scale = theta.std(0)
    theta, drawn = theta / scale, drawn / scale
    order = torch.randperm(len(theta), generator=generator)
    points = torch.empty_like(theta)
    points[order] = theta[order.roll(1)]
    closer = ((drawn - points[:, None]).norm(dim=-1) < (theta - points).norm(dim=-1)[:, None]).sum(1)
    uniform = torch.rand(len(theta), generator=generator, dtype=torch.float64)
    return ((closer + uniform) / (drawn.shape[1] + 1)).numpy()


def uniformity(values: Float[np.ndarray, "N"]) -> float:
    """The p-value of Kolmogorov and Smirnov's test that values are uniform on (0, 1)."""
    from scipy.stats import kstest

    return float(kstest(values, "uniform").pvalue)

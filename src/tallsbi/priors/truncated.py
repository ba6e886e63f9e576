"""Moments of a truncated standard normal, without cancellation anywhere.

The textbook variance 1 + (a phi(a) - b phi(b)) / Z - mean^2 loses every digit when the interval is narrow
or far in a tail, which is where a diffused uniform prior spends most of its time. Instead the moments are
integrated by Gauss-Legendre quadrature over the part of [a, b] that carries mass: there the integrand is a
smooth function whose exponent spans at most `_DROP`, so a fixed number of nodes reaches machine precision
for every interval, and the variance is a sum of positive terms.
"""

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

_NODES = 48
_DROP = 38.0  # exp(-38) is below the resolution of float64 relative to the mode


@lru_cache(maxsize=4)
def _rule(device: str) -> tuple[Tensor, Tensor]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return torch.from_numpy(nodes).to(device), torch.from_numpy(weights).to(device)


def truncated_normal_moments(
    a: Float[Tensor, "*batch"], b: Float[Tensor, "*batch"]
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """log(Phi(b) - Phi(a)), mean and variance of N(0, 1) restricted to [a, b], a < b.

    Computed in float64, returned in float64.
    """
    a, b = a.double(), b.double()
    mode = torch.clamp(torch.zeros_like(a), min=a, max=b)
    # Everything is measured from the mode: far in a tail the mass sits within 1 / mode of it, less than the
    # rounding of z itself. `reach` is where the exponent has dropped by `_DROP`, without cancellation.
    reach = 2 * _DROP / (mode.abs() + torch.sqrt(mode.square() + 2 * _DROP))
    low, high = torch.maximum(a - mode, -reach), torch.minimum(b - mode, reach)
    half = 0.5 * (high - low)
    centre = low + half
    nodes, weights = _rule(str(a.device))
    offset = half[..., None] * nodes  # from the centre: no digits lost for narrow intervals
    distance = centre[..., None] + offset
    # z^2 - mode^2 = (z - mode)(z - mode + 2 mode)
    mass = weights * torch.exp(-0.5 * distance * (distance + 2 * mode[..., None]))
    total = mass.sum(-1)
    shift = (mass * offset).sum(-1) / total
    mean = mode + (centre + shift)
    variance = (mass * (offset - shift[..., None]).square()).sum(-1) / total
    log_z = torch.log(half * total) - 0.5 * mode.square() - 0.5 * np.log(2 * np.pi)
    return log_z, mean, variance

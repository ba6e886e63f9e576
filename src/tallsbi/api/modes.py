"""Draws in groups: strays far from all others, and several modes."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_FEWEST_DRAWS = 10
_LEAST_SEPARATION = 4.0  # of the means of two groups, in their spreads
_LEAST_SHARE = 0.05  # of a mode; smaller groups are strays


def without_strays(draws: Float[Tensor, "S m"]) -> tuple[Float[Tensor, "K m"], Float[Tensor, "m"] | None]:
    """Draws without small groups far from the others; the step from one mode to another, None where there is one."""
    for _ in range(5):
        second = split(draws) if len(draws) >= _FEWEST_DRAWS else None
        if second is None:
            return draws, None
        share = float(second.double().mean())
        if min(share, 1 - share) >= _LEAST_SHARE:
            return draws, draws[second].mean(0) - draws[~second].mean(0)
        draws = draws[second if share > 0.5 else ~second]
    return draws, None


def split(draws: Float[Tensor, "S m"]) -> Bool[Tensor, "S"] | None:
    """Which draws are of a second group, by 2-means from several starts; None where the two are not apart."""
    standard = (draws - draws.median(0).values) / draws.std(0).clamp_min(1e-300)
    starts = [standard.norm(dim=1).argmax(), *standard.abs().argmax(0)]
    best: tuple[float, Tensor] | None = None
    for start in starts:
        centres = torch.stack([standard.median(0).values, standard[start]])
        for _ in range(20):
            second = torch.cdist(standard, centres).argmin(1) == 1
            if not 0 < int(second.sum()) < len(second):
                break
            centres = torch.stack([standard[~second].mean(0), standard[second].mean(0)])
        else:
            along = standard @ (centres[1] - centres[0])
            spread = ((along[second].var(correction=0) + along[~second].var(correction=0)) / 2).sqrt()
            separation = float((along[second].mean() - along[~second].mean()) / spread.clamp_min(1e-300))
            group = (separation, second)
            best = max(best, group, key=lambda pair: pair[0]) if best else group
    return best[1] if best and best[0] > _LEAST_SEPARATION else None

"""The squared error of h, the mean of summaries, as a function of theta.

It differs from place to place: where simulations are few, or h is steep, it can be ten times what it is elsewhere. The
laws that were learnt without one fold of the simulations disagree more there. So, in units of C, the error is taken as

    v(theta) = level * J(theta)^power,

J being the jackknife's estimate from these laws, which misses what they have in common. Repeated simulations of some
parameters tell level and power: the squared departure of the mean of r summaries from h is noise / r + v(theta) times
chi-squared over its degrees of freedom, the dimension of the summary. A likelihood with heavier tails keeps a few
parameters, of which the laws know nothing, from deciding for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.summaries.crossfit import LEAST_NOISE_SHARE

_POWERS = torch.linspace(0, 1, 11, dtype=torch.float64)
_LIKELY_POWER, _POWER_DEVIATION = 0.6, 0.25  # what was found on three problems (docs/research.md)
_LEVELS = torch.logspace(-3, 2, 101, dtype=torch.float64)  # relative to the average error
_LEAST_DISAGREEMENT = 1e-6
_DEGREES_OF_FREEDOM = 4.0  # of the tails: of Snedecor's F instead of chi-squared
_QUANTILES = 2000


@dataclass(frozen=True)
class VarianceLaw:
    """`low` and `high`: the smallest and largest J among the repeated parameters, beyond which v does not change."""

    level: float
    power: float
    low: float
    high: float

    @classmethod
    def fit(
        cls,
        departure: Float[Tensor, "D"],
        disagreement: Float[Tensor, "D"],
        total: float,
        average: float,
        repeats: int,
        dim: int,
        known_average: bool,
    ) -> VarianceLaw:
        """From squared departures of the means of `repeats` summaries, of `dim` coordinates, at D parameters.

        `total`: the mean squared departure of a single summary; `average`: the mean of v, or its upper bound if it is
        not `known_average`.
        """
        J = disagreement.double().clamp_min(_LEAST_DISAGREEMENT)
        shape = (J.log() - J.log().mean()).exp() ** _POWERS[:, None]
        levels = torch.ones(1, dtype=torch.float64) if known_average else _LEVELS
        v = average * levels[:, None, None] * shape / shape.mean(1, keepdim=True)
        noise = (total - v.mean(-1, keepdim=True)).clamp_min(LEAST_NOISE_SHARE * total)
        expected = noise / repeats + v
        ratio = dim * departure.double() / (_tail_scale(dim) * expected)
        misfit = (dim * expected.log() + (dim + _DEGREES_OF_FREEDOM) * ratio.log1p()).sum(-1)
        misfit = misfit + ((_POWERS - _LIKELY_POWER) / _POWER_DEVIATION).square()
        best = int(misfit.argmin())
        power = float(_POWERS[best % len(_POWERS)])
        mean = min(average, float(v.flatten(0, 1)[best].mean()))
        return cls(mean / float((J**power).mean()), power, float(J.min()), float(J.max()))

    def __call__(self, disagreement: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
        return self.level * disagreement.clamp(self.low, self.high) ** self.power


def _tail_scale(dim: int) -> float:
    """With this scale the heavy-tailed likelihood is right, on average, where departures are chi-squared after all."""
    probabilities = (torch.arange(_QUANTILES, dtype=torch.float64) + 0.5) / _QUANTILES
    grid = torch.linspace(0, dim + 12 * dim**0.5 + 12, 20_001, dtype=torch.float64)
    below = torch.special.gammainc(torch.tensor(dim / 2, dtype=torch.float64), grid / 2)
    quantiles = grid[torch.searchsorted(below, probabilities).clamp_max(len(grid) - 1)]
    low, high = 1e-3, 1e3 * dim
    for _ in range(60):
        middle = (low * high) ** 0.5
        # The likelihood's derivative in the scale of the departures.
        too_small = float((quantiles / (middle + quantiles)).mean()) > dim / (dim + _DEGREES_OF_FREEDOM)
        low, high = (middle, high) if too_small else (low, middle)
    return low

"""A coordinate of a prior as a table of its quantiles: theta(z) at even steps of a standard normal z.

Any continuous distribution of one number is z ~ N(0, 1) pushed through theta = F^-1(Phi(z)). The table holds that
map, so that it can be evaluated, inverted, differentiated and written to a file whatever F is, without F. What is
interpolated, by cubics that keep the order, is theta on an unbounded scale: the logarithm of its distance from one
bound, log odds between two. So the map never leaves the support, and is smooth where theta crowds against a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import UnsupportedPrior

REACH = 7.0  # the mass beyond so many standard deviations is 3e-12, and float64 still resolves Phi there
KNOTS = 1025
_STEP = 2 * REACH / (KNOTS - 1)
# In |z|: where the table must be whole; further out it may end early, as where quantiles have 7 digits only.
_CORE = 4.0
_NEWTON_STEPS = 12  # with a bracket, inside one cell


def knots() -> Float[Tensor, "K"]:
    """The places z at which quantiles are asked for."""
    return torch.linspace(-REACH, REACH, KNOTS, dtype=torch.float64)


class Quantiles:
    """The table of one coordinate on [low, high]: quantiles on the unbounded scale, from z = `start` in even steps."""

    def __init__(
        self, label: str, low: float, high: float, start: float, quantiles: Float[Tensor, "K"]
    ) -> None:
        self.label, self.low, self.high, self.start, self.quantiles = label, low, high, start, quantiles
        self._slopes = _slopes(quantiles)

    @classmethod
    def of(cls, label: str, low: float, high: float, theta: Float[Tensor, "K"]) -> Quantiles:
        """From the quantiles at `knots()`; refuses steps and gaps, which a distribution of a real number lacks."""
        values = _unbounded(theta.double(), low, high)
        z = knots()
        finite = values.isfinite()
        rising = torch.cat([finite[:1], (values[1:] > values[:-1]) & finite[1:] & finite[:-1]])
        faults = z[~rising]
        below, above = faults[faults < -_CORE], faults[faults > _CORE]
        if len(below) + len(above) < len(faults):
            fault = faults[faults.abs() <= _CORE][0]
            probability = float(torch.special.ndtr(fault))
            if not bool(finite[z == fault]):
                raise UnsupportedPrior(
                    f"prior: at probability {probability:.4g} the quantile of {label} is "
                    f"{float(theta[z == fault]):g}, on a bound or beyond what numbers hold; infer a transform of it, "
                    "such as its logarithm, with the prior of that."
                )
            raise UnsupportedPrior(
                f"prior: the quantiles of {label} do not rise at probability {probability:.4g}; a coordinate must be a "
                "continuous random number with an increasing distribution function (a discrete one has no score)."
            )
        first = int((z <= below[-1]).sum()) if len(below) else 0
        last = int((z < above[0]).sum()) if len(above) else KNOTS
        return cls(label, low, high, float(z[first]), values[first:last].clone())

    def to_parameter(self, latent: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """theta(z), float64."""
        place = ((latent.double() - self.start) / _STEP).clamp(0, len(self.quantiles) - 1)
        place = place.nan_to_num(0.0)
        cell = place.floor().clamp_max(len(self.quantiles) - 2).long()
        value, _ = self._cubic(cell, place - cell)
        theta = _bounded(value, self.low, self.high)
        return torch.where(latent.isnan(), torch.nan, theta)

    def to_latent(self, theta: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """z(theta), float64; a theta beyond the table has the z of its end."""
        cell, share = self._located(theta)
        return self.start + _STEP * (cell + share)

    def log_prob(self, theta: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Log density of what `to_parameter` makes of standard normals, float64; -inf outside the bounds."""
        theta = theta.double()
        cell, share = self._located(theta)
        _, slope = self._cubic(cell, share)
        z = self.start + _STEP * (cell + share)
        values = _unbounded(theta, self.low, self.high).clamp(self.quantiles[0], self.quantiles[-1])
        inward = _bounded(values, self.low, self.high)
        density = -0.5 * z.square() - 0.5 * math.log(2 * math.pi) - slope.clamp_min(1e-300).log()
        density = density + _log_rate(inward, self.low, self.high)
        return torch.where((theta >= self.low) & (theta <= self.high), density, -torch.inf)

    def to_json(self) -> dict[str, Any]:
        bounds = [bound if math.isfinite(bound) else None for bound in (self.low, self.high)]
        return {
            "kind": "Quantiles",
            "label": self.label,
            "bounds": bounds,
            "start": self.start,
            "seen": self.quantiles.tolist(),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Quantiles:
        low, high = values["bounds"]
        quantiles = torch.tensor(values["seen"], dtype=torch.float64)
        if len(quantiles) < 2 or not bool((quantiles.diff() > 0).all()):
            raise ValueError(f"the quantiles of {values['label']!r} do not rise")
        return cls(
            str(values["label"]),
            -math.inf if low is None else float(low),
            math.inf if high is None else float(high),
            float(values["start"]),
            quantiles,
        )

    def __repr__(self) -> str:
        return self.label

    def _cubic(self, cell: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """Value, and derivative in z, of the cubic of a cell, `share` of the way along it."""
        left, right = self.quantiles[cell], self.quantiles[cell + 1]
        a, b = self._slopes[cell] * _STEP, self._slopes[cell + 1] * _STEP
        rise, u = right - left, share
        c2, c3 = 3 * rise - 2 * a - b, a + b - 2 * rise
        return left + u * (a + u * (c2 + u * c3)), (a + u * (2 * c2 + 3 * u * c3)) / _STEP

    def _located(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """The cell of theta and how far along it theta lies."""
        table = self.quantiles
        target = _unbounded(theta.double(), self.low, self.high).nan_to_num(float(table[0]))
        target = target.clamp(table[0], table[-1])
        cell = (torch.searchsorted(table, target.contiguous(), right=True) - 1).clamp(0, len(table) - 2)
        low, high = torch.zeros_like(target), torch.ones_like(target)
        share = (target - table[cell]) / (table[cell + 1] - table[cell])
        for _ in range(_NEWTON_STEPS):
            value, slope = self._cubic(cell, share)
            low, high = torch.where(value <= target, share, low), torch.where(value >= target, share, high)
            newton = share - (value - target) / (slope * _STEP).clamp_min(1e-300)
            inside = (newton >= low) & (newton <= high)
            share = torch.where(inside, newton, 0.5 * (low + high))
        return cell, share


def _slopes(values: Float[Tensor, "K"]) -> Float[Tensor, "K"]:
    """Derivatives in z by differences of fourth order, limited where a cubic would not rise."""
    secant = values.diff() / _STEP
    slopes = torch.empty_like(values)
    slopes[1:-1] = 0.5 * (secant[1:] + secant[:-1])
    slopes[2:-2] = (8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / (12 * _STEP)
    slopes[0], slopes[-1] = secant[0], secant[-1]
    limit = 3 * torch.minimum(torch.cat([secant[:1], secant]), torch.cat([secant, secant[-1:]]))
    return torch.minimum(slopes.clamp_min(1e-3 * limit), limit)


def _unbounded(theta: Tensor, low: float, high: float) -> Tensor:
    """theta on the unbounded scale."""
    below = (theta - low).clamp_min(0).log() if math.isfinite(low) else None
    above = (high - theta).clamp_min(0).log() if math.isfinite(high) else None
    if below is None:
        return theta if above is None else -above
    return below if above is None else below - above


def _bounded(value: Tensor, low: float, high: float) -> Tensor:
    """The inverse of `_unbounded`."""
    if math.isfinite(low) and math.isfinite(high):
        # From the nearer bound: the share of the interval keeps its digits at both.
        width = high - low
        return torch.where(value < 0, low + width * value.sigmoid(), high - width * (-value).sigmoid())
    if math.isfinite(low):
        return low + value.exp()
    return high - (-value).exp() if math.isfinite(high) else value


def _log_rate(theta: Tensor, low: float, high: float) -> Tensor:
    """log of d `_unbounded` / d theta."""
    rate = torch.zeros_like(theta)
    if math.isfinite(low):
        rate = rate - (theta - low).log()
    if math.isfinite(high):
        rate = rate - (high - theta).log()
    return rate + math.log(high - low) if math.isfinite(high - low) else rate

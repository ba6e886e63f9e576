"""Maps of parameters and observations to coordinates in which networks learn easily.

Both maps are one to one (columns of x that never vary aside), so that no posterior changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

_LEAST_VARIANCE_SHARE = 1e-4  # of the largest variance: narrower directions are rounding errors or constant
_TAIL_WEIGHT = 0.3  # of excess kurtosis against skewness


@dataclass(frozen=True, eq=False)
class Whitening:
    """An affine map to mean zero and covariance one: (v - mean) @ matrix."""

    mean: Float[Tensor, "k"]
    matrix: Float[Tensor, "k j"]

    @classmethod
    def of(cls, rows: Float[Tensor, "N k"]) -> Whitening:
        """By the symmetric root of the correlations, which does not mix uncorrelated columns."""
        rows = rows.double()
        deviations = rows.std(0)
        scale = torch.where(deviations > 0, deviations, 1.0)
        values, vectors = torch.linalg.eigh(torch.atleast_2d(torch.cov((rows / scale).mT)))
        values = values.clamp_min(_LEAST_VARIANCE_SHARE * float(values.max()) or 1.0)
        return cls(rows.mean(0), (vectors * values.rsqrt()) @ vectors.mT / scale[:, None])

    def to(self, device: torch.device | str) -> Whitening:
        return Whitening(self.mean.to(device), self.matrix.to(device))

    def __call__(self, rows: Float[Tensor, "*b k"]) -> Float[Tensor, "*b j"]:
        return ((rows.double() - self.mean) @ self.matrix).float()


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """arcsinh((x - centre) / scale) where a column is skewed or heavy-tailed, else x itself; then whitened.

    A scale of zero marks a column that stays as it is. Unlike a logarithm, arcsinh takes any number.
    """

    centre: Float[Tensor, "d"]
    scale: Float[Tensor, "d"]
    whitening: Whitening

    @classmethod
    def of(cls, x: Float[Tensor, "N d"]) -> ColumnMap:
        chosen = [_centre_and_scale(column) for column in x.double().unbind(1)]
        centre, scale = torch.tensor(chosen, dtype=torch.float64, device=x.device).unbind(1)
        return cls(centre, scale, Whitening.of(_arcsinh(x, centre, scale)))

    def to(self, device: torch.device | str) -> ColumnMap:
        return ColumnMap(self.centre.to(device), self.scale.to(device), self.whitening.to(device))

    def __call__(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        return self.whitening(_arcsinh(x, self.centre, self.scale))


def _arcsinh(
    x: Float[Tensor, "*b d"], centre: Float[Tensor, "d"], scale: Float[Tensor, "d"]
) -> Float[Tensor, "*b d"]:
    x = x.double()
    return torch.where(scale > 0, ((x - centre) / torch.where(scale > 0, scale, 1.0)).asinh(), x)


def _centre_and_scale(column: Float[Tensor, "N"]) -> tuple[float, float]:
    low, median, high = (float(v) for v in column.quantile(column.new_tensor([0.1, 0.5, 0.9])))
    candidates = [(0.0, 0.0)]
    for scale in ((high - low) / 10, (high - low) / 100):
        if scale > 0:
            candidates += [(median, scale), (0.0, scale), (float(column.min()), scale)]
    return min(
        candidates,
        key=lambda pair: _non_normality(_arcsinh(column[:, None], *column.new_tensor(pair)[:, None])[:, 0]),
    )


def _non_normality(values: Float[Tensor, "N"]) -> float:
    """Skewness and excess kurtosis, both zero for a normal law; zero for a constant."""
    deviation = float(values.std())
    if deviation == 0:
        return 0.0
    z = (values - values.mean()) / deviation
    return abs(float(z.pow(3).mean())) + _TAIL_WEIGHT * abs(float(z.pow(4).mean()) - 3)

"""`Truncated`: a distribution of one number, restricted to an interval."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from tallsbi.priors.base import UnsupportedPrior
from tallsbi.priors.quantile_sources import tabulated
from tallsbi.priors.quantiles import Quantiles, knots

_LEAST_MASS = 1e-9


class Truncated:
    """`base` given that it lies in [low, high], for a prior: `Truncated(Normal(0.0, 1.0), low=0.5)`.

    `base` is of torch or scipy, or has `cdf` and `icdf`; with a batch [m] of them the bounds are numbers or [m].
    """

    def __init__(self, base: Any, low: Any = -math.inf, high: Any = math.inf) -> None:
        tables = tabulated(base)
        bounds = torch.stack([torch.as_tensor(b).double().expand(len(tables)) for b in (low, high)], 1)
        self.tables = [_truncated(table, *pair) for table, pair in zip(tables, bounds.tolist(), strict=True)]

    def __repr__(self) -> str:
        return f"[{', '.join(table.label for table in self.tables)}]"


def _truncated(table: Quantiles, low: float, high: float) -> Quantiles:
    label = f"Truncated({table.label}, low={low:g}, high={high:g})"
    low, high = max(low, table.low), min(high, table.high)
    if not low < high:
        raise UnsupportedPrior(f"prior: {label} is empty: low must lie below high, inside the support.")
    ends = torch.tensor([low, high], dtype=torch.float64)
    a, b = (
        float(e) if math.isfinite(v) else v for e, v in zip(table.to_latent(ends), (low, high), strict=True)
    )
    # The side of the mean with less mass keeps its digits: probabilities there are small numbers, not 1 minus them.
    side = -1.0 if a + b > 0 else 1.0
    z = knots()
    tails = [torch.special.ndtr(side * torch.tensor(v, dtype=torch.float64)) for v in (a, b)]
    if float((tails[1] - tails[0]).abs()) < _LEAST_MASS:
        raise UnsupportedPrior(
            f"prior: {label} has a probability of less than {_LEAST_MASS:g} before truncation; choose bounds where "
            "the distribution has mass."
        )
    mixed: Tensor = torch.special.ndtr(-z) * tails[0] + torch.special.ndtr(z) * tails[1]
    return Quantiles.of(label, low, high, table.to_parameter(side * torch.special.ndtri(mixed)))

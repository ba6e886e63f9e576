"""How runs went: variables of the datasets with draws, and columns of the tidy tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    import xarray as xr

HEALTH = ("lost_definiteness", "lost_definiteness_time", "nonfinite", "nonfinite_time")
"""As in `tallsbi.samplers.base.Health`."""


def health_columns(cell: xr.Dataset) -> dict[str, Any]:
    """The share of finite samples of one run, and its `HEALTH`."""
    return {
        "finite_share": finite_share(cell["theta"].values),
        **{key: cell[key].item() for key in HEALTH},
    }


def finite_share(theta: Float[np.ndarray, "S m"]) -> float:
    return float(np.isfinite(theta).all(-1).mean())

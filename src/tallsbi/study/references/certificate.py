"""Certificates of Markov chains: rank-normalised split R-hat, bulk and tail effective sample sizes.

The numbers come from ArviZ (Vehtari et al. 2021). A reference without a passing certificate is marked, and
whatever uses it can see so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Certificate:
    """The worst coordinate of each diagnostic, and whether it passes."""

    method: str
    rhat: float
    ess_bulk: float
    ess_tail: float
    acceptance: float
    iterations: int
    passed: bool

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def exact(method: str) -> Certificate:
    """Independent draws from the exact posterior: nothing to diagnose."""
    return Certificate(method, np.nan, np.nan, np.nan, np.nan, 0, True)


def certify(
    chains: np.ndarray, *, method: str, acceptance: float, iterations: int, max_rhat: float, min_ess: float
) -> Certificate:
    """Certificate of draws [chain, draw, m]."""
    from arviz import ess, rhat

    columns = [np.ascontiguousarray(chains[..., i]) for i in range(chains.shape[-1])]
    # numpy's extremes and not Python's: a coordinate whose diagnostic is NaN must not be passed over.
    worst_rhat = float(np.max([rhat(column, method="rank") for column in columns]))
    bulk = float(np.min([ess(column, method="bulk") for column in columns]))
    tail = float(np.min([ess(column, method="tail") for column in columns]))
    passed = bool(worst_rhat <= max_rhat and bulk >= min_ess and tail >= min_ess)
    return Certificate(method, worst_rhat, bulk, tail, acceptance, iterations, passed)

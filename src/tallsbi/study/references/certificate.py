"""Certificates of reference posteriors: named checks with their values, their bounds and whether they passed.

A check that looks at each coordinate of theta keeps one value per coordinate; others have a single value. A reference
with a failed check is still used, and marked in whatever uses it. Exact draws have nothing to check.

In a dataset of references, `pack` stores the worst value of every check under its name, the values per coordinate as
`<name>_by_parameter`, and the bounds as attributes; `unpack` reads a certificate back.

The diagnostics of Markov chains are those of Vehtari et al. (2021), computed by ArviZ: rank-normalised split R-hat,
bulk and tail effective sample size (ESS). With the energy of NUTS, its divergences and the correlation of neighbours
among the kept draws they are what posteriordb asks of a reference posterior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    import xarray as xr

# Every number a certificate may hold, and what stands for it where the method does not have it.
NUMBERS: dict[str, float] = {
    "rhat": np.nan,
    "ess_bulk": np.nan,
    "ess_tail": np.nan,
    "ess_kept": np.nan,  # bulk ESS of the draws that are kept
    "autocorrelation": np.nan,  # of neighbours among the draws that are kept, the sign left out
    "efmi": np.nan,  # fraction of missing information by the energy of NUTS, of the worst chain
    "divergences": 0,
    "divergent_share": 0.0,
    "acceptance": np.nan,
    "chains": 0,
    "iterations": 0,  # of each chain in the last attempt, warm-up included
    "attempts": 1,
    "cells": np.nan,  # effective number of grid cells under the posterior
    "cells_per_sd": np.nan,
    "border": np.nan,  # mass at the border of the grid
    "disagreement": np.nan,  # total variation between the last two resolutions of the grid
    "missed": np.nan,  # share of the posterior that the draws cannot reach, as far as it can be seen
}
_BY_PARAMETER = "_by_parameter"


@dataclass(frozen=True)
class Check:
    """Values, one per coordinate or one in all, that must lie between two bounds. NaN never passes."""

    name: str
    values: tuple[float, ...]
    at_least: float = -np.inf
    at_most: float = np.inf

    @property
    def bounds(self) -> dict[str, float]:
        bounds = {"at_least": self.at_least, "at_most": self.at_most}
        return {name: bound for name, bound in bounds.items() if np.isfinite(bound)}

    @property
    def passed(self) -> bool:
        return all(self.at_least <= value <= self.at_most for value in self.values)

    @property
    def worst(self) -> float:
        # numpy's extremes, unlike Python's, give NaN if one of the values is.
        return float(np.max(self.values) if self.at_least == -np.inf else np.min(self.values))


@dataclass(frozen=True)
class Certificate:
    """How a reference was made and what its checks say; `notes` are numbers without a bound."""

    method: str
    checks: tuple[Check, ...] = ()
    notes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted({*self.notes, *(check.name for check in self.checks)} - NUMBERS.keys())
        if unknown:
            raise ValueError(
                f"certificate of {self.method}: unknown {', '.join(unknown)}; there are {', '.join(NUMBERS)}. Add it "
                "to NUMBERS and to the columns of sbibm/certificates."
            )

    @property
    def passed(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if not check.passed)

    def numbers(self) -> dict[str, float]:
        """Every number of `NUMBERS`: the worst value of a check, a note, or what stands for none."""
        return {**NUMBERS, **self.notes, **{check.name: check.worst for check in self.checks}}

    def as_row(self) -> dict[str, Any]:
        names = {"checks": [check.name for check in self.checks], "failed": self.failed}
        words = {key: " ".join(value) for key, value in names.items()}
        return {"method": self.method, "passed": self.passed, **words, **self.numbers()}


def chain_checks(
    chains: Float[np.ndarray, "C draws m"], *, max_rhat: float, min_bulk: float, min_tail: float
) -> tuple[Check, Check, Check]:
    """R-hat, bulk and tail ESS of every coordinate."""
    from arviz import rhat

    return (
        Check("rhat", _by_coordinate(rhat, chains, "rank"), at_most=max_rhat),
        Check("ess_bulk", effective_sizes(chains, "bulk"), at_least=min_bulk),
        Check("ess_tail", effective_sizes(chains, "tail"), at_least=min_tail),
    )


def effective_sizes(chains: Float[np.ndarray, "C draws m"], kind: str) -> tuple[float, ...]:
    """The effective sample size, "bulk" or "tail", of every coordinate."""
    from arviz import ess

    # The tails of Vehtari et al.; ArviZ has no default for them since 1.0.
    tails = {"prob": (0.05, 0.95)} if kind == "tail" else {}
    return _by_coordinate(ess, chains, kind, **tails)


def lagged_correlation(chains: Float[np.ndarray, "C draws m"], lag: int) -> tuple[float, ...]:
    """The size of every coordinate's autocorrelation at a lag, from all draws of all chains.

    If every `lag`-th draw is kept, this is the correlation of neighbours among them, with far less noise than they
    themselves would show.
    """
    centred = chains - chains.mean((0, 1))
    products = (centred[:, lag:] * centred[:, :-lag]).mean((0, 1))
    return tuple(np.abs(products / centred.var((0, 1))).tolist())


def energy_information(energy: Float[np.ndarray, "C draws"]) -> float:
    """E-FMI of the worst chain: how much of the energy's variance one draw renews (Betancourt, 2016)."""
    renewed = np.square(np.diff(energy, axis=1)).mean(1)
    return float(np.min(renewed / energy.var(1)))


def _by_coordinate(diagnostic: Any, chains: np.ndarray, method: str, **options: Any) -> tuple[float, ...]:
    columns = (np.ascontiguousarray(chains[..., i]) for i in range(chains.shape[-1]))
    return tuple(float(diagnostic(column, method=method, **options)) for column in columns)


def pack(certificates: Sequence[Any], dims: tuple[str, ...]) -> dict[str, tuple]:
    """Variables for a dataset with a certificate in each cell of `dims`; `certificates` are lists nested as deep."""
    cells: list[Certificate] = np.ravel(np.array(certificates, dtype=object)).tolist()
    rows, shape = [cell.as_row() for cell in cells], np.shape(certificates)
    variables = {name: (dims, np.array([row[name] for row in rows]).reshape(shape), {}) for name in rows[0]}
    checks = [{check.name: check for check in cell.checks} for cell in cells]
    for name in dict.fromkeys(name for cell in checks for name in cell):
        present = [cell[name] for cell in checks if name in cell]
        if any(check.bounds != present[0].bounds for check in present):
            raise ValueError(
                f"check {name}: several bounds in one dataset; use the same for all of its posteriors"
            )
        variables[name][2].update(present[0].bounds)
        count = len(present[0].values)
        if count > 1:
            values = np.array([cell[name].values if name in cell else (np.nan,) * count for cell in checks])
            variables[name + _BY_PARAMETER] = ((*dims, "parameter"), values.reshape(*shape, count))
    return variables


def unpack(cell: xr.Dataset) -> Certificate:
    """The certificate in one cell of a dataset of references."""
    checks = []
    for name in str(cell["checks"].item()).split():
        values = cell[name + _BY_PARAMETER if name + _BY_PARAMETER in cell else name].values
        checks.append(Check(name, tuple(np.ravel(values).tolist()), **cell[name].attrs))
    check_names = {check.name for check in checks}
    notes = {name: cell[name].item() for name in NUMBERS if name not in check_names}
    return Certificate(str(cell["method"].item()), tuple(checks), notes)

"""Independent draws of a posterior in two dimensions, through a grid that refines itself where the mass is.

The grid starts coarse, on a window that holds the whole prior. At each level it keeps the cells within `_KEPT_NATS`
nats of the highest one. As long as it does not resolve the posterior it also keeps the `_KEPT_CELLS` highest cells,
whatever their density: a coarse grid shows a narrow posterior as a slope towards it. The neighbours of these cells are
added, and each cell is cut in four. Refinement ends when cells and their parents agree about where the mass is.

A draw is a cell, chosen by its probability, and a uniform place in it, accepted or rejected by the exact density
there. The grid is thus only a proposal, and its coarseness does not reach the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tallsbi.study.references.certificate import Check

Density = Callable[[np.ndarray], np.ndarray]
"""Points [N, 2] -> log densities [N] up to a constant."""

_FIRST_SIDE = 64
_KEPT_NATS = 25.0
_KEPT_CELLS = _FIRST_SIDE**2 // 4
_UNRESOLVED_DISAGREEMENT = 0.3
_MAX_LEVELS = 24
_MAX_CELLS = 1_600_000
_MAX_WEIGHT = 4.0


@dataclass(frozen=True)
class Grid:
    """The cells of the last level: their lower corners, common size, log densities at the centre, and mass."""

    corner: Float[np.ndarray, "N 2"]
    size: Float[np.ndarray, "2"]
    log_density: Float[np.ndarray, "N"]
    mass: Float[np.ndarray, "N"]
    levels: int
    disagreement: float
    """Total variation between the masses of the parents and those of their children."""
    border: float
    """Mass in cells at the edge of the kept region, and of the window unless the prior ends there."""

    @property
    def effective_cells(self) -> float:
        """How many equally probable cells have this entropy."""
        mass = self.mass[self.mass > 0]
        return float(np.exp(-np.sum(mass * np.log(mass))))

    @property
    def cells_per_sd(self) -> Float[np.ndarray, "2"]:
        """The standard deviations of both coordinates, in cells."""
        mean = self.mass @ self.corner
        return np.sqrt(self.mass @ (self.corner - mean) ** 2) / self.size

    def resolution(self) -> tuple[Check, ...]:
        """Checks that the cells are small enough."""
        return (
            Check("cells", (self.effective_cells,), at_least=1000.0),
            Check("cells_per_sd", tuple(self.cells_per_sd.tolist()), at_least=5.0),
            Check("disagreement", (self.disagreement,), at_most=0.02),
        )

    def resolved(self) -> bool:
        return all(check.passed for check in self.resolution())

    def checks(self, excess: float) -> tuple[Check, ...]:
        """All checks of draws from the grid, `excess` being the weight that `draw` lost."""
        border = Check("border", (self.border,), at_most=1e-6)
        return (*self.resolution(), border, Check("missed", (excess,), at_most=1e-3))


def tabulate(
    log_density: Density, low: Float[np.ndarray, "2"], high: Float[np.ndarray, "2"], *, closed: bool
) -> Grid:
    """The grid on the window [low, high]; `closed`: the density is zero beyond the window."""
    index = np.stack(np.meshgrid(*[np.arange(_FIRST_SIDE)] * 2, indexing="ij"), -1).reshape(-1, 2)
    parent_mass = np.full(len(index), np.nan)
    disagreement, parents = 1.0, np.arange(len(index))
    for level in range(_MAX_LEVELS):
        side = _FIRST_SIDE * 2**level
        size = (high - low) / side
        corner = low + index * size
        value = log_density(corner + 0.5 * size)
        value = np.where(np.isnan(value), -np.inf, value)
        highest = value.max()
        if not np.isfinite(highest):
            raise ValueError(
                f"the highest log density on {len(index)} cells is {highest}: the likelihood vanishes or is not "
                "finite everywhere in the window; check the observation."
            )
        mass = np.exp(value - highest)
        mass /= mass.sum()
        if level:
            disagreement = _disagreement(mass, parents, parent_mass)
        border = float(mass[_at_the_border(index, side, closed)].sum())
        grid = Grid(corner, size, value, mass, level + 1, disagreement, border)
        if grid.resolved():
            break
        keep = value >= highest - _KEPT_NATS
        if disagreement > _UNRESOLVED_DISAGREEMENT and len(value) > _KEPT_CELLS:
            keep |= value >= np.partition(value, -_KEPT_CELLS)[-_KEPT_CELLS]
        kept = _with_neighbours(index[keep], side)
        if 4 * len(kept) > _MAX_CELLS:
            break
        parent_mass = _look_up(kept, index, mass, side)
        parents = np.repeat(np.arange(len(kept)), 4)
        index = (2 * kept[:, None] + np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).reshape(-1, 2)
    return grid


def _disagreement(
    mass: Float[np.ndarray, "N"], parents: Int[np.ndarray, "N"], parent_mass: Float[np.ndarray, "P"]
) -> float:
    """Total variation between two levels; a parent that was not there before counts with mass zero."""
    children = np.bincount(parents, mass, minlength=len(parent_mass))
    return 0.5 * float(np.abs(children - parent_mass).sum() + max(0.0, 1 - parent_mass.sum()))


def _code(index: Int[np.ndarray, "*N 2"], side: int) -> Int[np.ndarray, "*N"]:
    return index[..., 0] * (side + 2) + index[..., 1]


_NEIGHBOURHOOD = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], indexing="ij"), -1).reshape(-1, 2)


def _with_neighbours(index: Int[np.ndarray, "N 2"], side: int) -> Int[np.ndarray, "K 2"]:
    """The cells and the eight around each, inside the window, in order."""
    around = (index[:, None] + _NEIGHBOURHOOD).reshape(-1, 2)
    around = around[((around >= 0) & (around < side)).all(-1)]
    _, first = np.unique(_code(around, side), return_index=True)
    return around[first]


def _at_the_border(index: Int[np.ndarray, "N 2"], side: int, closed: bool) -> np.ndarray:
    """Cells that lack a neighbour."""
    around = index[:, None] + _NEIGHBOURHOOD
    inside = ((around >= 0) & (around < side)).all(-1)
    present = np.isin(_code(around, side), _code(index, side))
    # Beyond a closed window there is nothing to lack.
    return (~present & (inside if closed else True)).any(-1)


def _look_up(
    wanted: Int[np.ndarray, "K 2"], index: Int[np.ndarray, "N 2"], mass: Float[np.ndarray, "N"], side: int
) -> Float[np.ndarray, "K"]:
    """The mass of each wanted cell, zero where it is not among those tabulated."""
    code, order = _code(index, side), np.argsort(_code(index, side))
    position = np.clip(np.searchsorted(code[order], _code(wanted, side)), 0, len(code) - 1)
    nearest = order[position]
    return np.where(code[nearest] == _code(wanted, side), mass[nearest], 0.0)


def draw(
    grid: Grid, log_density: Density, count: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "count 2"], float]:
    """Independent draws, and the share of the proposals' weight above the rejection bound, lost to them.

    The bound is the largest weight that occurs, at most `_MAX_WEIGHT`: beyond that the grid is too coarse,
    and the excess says by how much.
    """
    points, log_weight, uniform = np.empty((0, 2)), np.empty(0), np.empty(0)
    for _ in range(20):
        cell = rng.choice(len(grid.mass), 2 * count, p=grid.mass)
        new = grid.corner[cell] + grid.size * rng.random((2 * count, 2))
        value = log_density(new) - grid.log_density[cell]
        points = np.concatenate([points, new])
        log_weight = np.concatenate([log_weight, np.where(np.isnan(value), -np.inf, value)])
        uniform = np.concatenate([uniform, rng.random(2 * count)])
        weight = np.exp(np.minimum(log_weight, 700.0))
        bound = min(weight.max(), _MAX_WEIGHT)
        accepted = points[uniform * bound < weight]
        if len(accepted) >= count:
            excess = np.maximum(weight - bound, 0.0).sum() / weight.sum()
            return accepted[:count], float(excess)
    raise ValueError(
        f"{len(accepted)} of {count} draws accepted after {len(points)} proposals: the grid of {len(grid.mass)} "
        "cells does not resolve the density."
    )

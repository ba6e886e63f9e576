"""Simulated datasets with known parameters, with as many observations as are needed."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tallsbi.api.inputs import as_tensor
from tallsbi.api.layout import Layout
from tallsbi.api.pairs import drawn_conditions, simulated_rows
from tallsbi.api.simulation import Calling
from tallsbi.priors.base import Prior
from tallsbi.random import integer_seed, torch_generator
from tallsbi.shapes import Observations


def calibration_pairs(
    prior: Prior,
    layout: Layout,
    source: Any,
    n: int,
    datasets: int,
    seed: int,
    conditions: Float[Tensor, "K c"] | None = None,
    how: Calling | None = None,
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N n k"]]:
    """Parameters and the rows of n observations of each in float64, simulated or given as a pair (theta, x)."""
    if callable(source):
        theta = prior.sample(datasets, torch_generator(seed, "api", "calibration")).float()
        stream = integer_seed(seed, "api", "calibration", "simulator")
        x, whole = tall_rows(layout, source, theta, n, stream, conditions, seed, how)
        return theta[whole].double(), x[whole]
    return given_pairs(prior, layout, source, n)


def tall_rows(
    layout: Layout,
    source: Any,
    theta: Float[Tensor, "N m"],
    n: int,
    stream: int,
    conditions: Float[Tensor, "K c"] | None,
    seed: int,
    how: Calling | None = None,
) -> tuple[Float[Tensor, "N n k"], Bool[Tensor, "N"]]:
    """The rows of n observations of each parameter, and which datasets are whole, without a failure."""
    repeated, row_conditions = theta.repeat_interleave(n, 0), None
    if layout.condition:
        if conditions is None:
            raise ValueError(
                "the simulator needs a condition for each observation; give a pair (theta [N, m], x [N, n, d + c])."
            )
        row_conditions = drawn_conditions(conditions.numpy(), len(repeated), seed)
    flat, failed = simulated_rows(source, repeated, stream, row_conditions, layout, how)
    failed &= layout.failures == "drop"
    # A dataset that is not whole is left out by the caller: any numbers will do for it.
    flat = torch.where(failed[:, None], flat[~failed][:1] if bool((~failed).any()) else 1.0, flat)
    return layout.rows(flat.double(), "x").unflatten(0, (-1, n)), ~failed.unflatten(0, (-1, n)).any(1)


def given_pairs(
    prior: Prior, layout: Layout, source: Any, n: int | None = None
) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N n k"]]:
    """Parameters and the rows of their observations in float64, from a pair (theta, x); n of each if n is given."""
    if not isinstance(source, (tuple, list)) or len(source) != 2:
        raise TypeError(
            f"the first argument is {type(source).__name__}: give the simulator, or a pair (theta [N, m], "
            "x [N, n, d])."
        )
    theta, x = as_tensor(source[0], "theta").double(), layout.datasets(source[1], "x").groups[0]
    if theta.ndim != 2 or theta.shape != (len(x), prior.dim) or n not in (None, x.shape[1]):
        wanted = ("", "n") if n is None else (f"for n = {n} ", n)
        raise ValueError(
            f"theta has shape {tuple(theta.shape)} and x {tuple(x.shape)}; {wanted[0]}give "
            f"theta [N, {prior.dim}] and x [N, {wanted[1]}, {layout.columns}]."
        )
    return theta, x


class Pool:
    """Parameters of the prior with observations of each, as many as are asked for; simulated, or a pair (theta, x).

    `most_observations`: of each parameter, where they are given and not simulated.
    """

    def __init__(
        self,
        prior: Prior,
        layout: Layout,
        source: Any,
        datasets: int,
        seed: int,
        conditions: Tensor | None = None,
        how: Calling | None = None,
    ) -> None:
        self.prior, self.layout, self.source, self.seed = prior, layout, source, seed
        self.conditions, self.how, self.datasets = conditions, how, datasets
        self.most_observations: int | None = None
        self.x: Tensor | None = None
        if callable(source):
            self.theta = prior.sample(datasets, torch_generator(seed, "api", "horizon")).float().double()
        else:
            self.theta, self.x = given_pairs(prior, layout, source)
            self.most_observations, self.datasets = self.x.shape[1], len(self.x)

    def another(self, n: int, batch: int) -> Pool:
        """A pool of as many fresh parameters."""
        seed = integer_seed(self.seed, "api", "horizon", "batch", n, batch)
        return Pool(self.prior, self.layout, self.source, self.datasets, seed, self.conditions, self.how)

    def observations(self, n: int) -> Observations:
        """The rows of the first n of each; a dataset whose simulations fail again and again is left out."""
        available = 0 if self.x is None else self.x.shape[1]
        if self.x is None or n > available:
            stream = integer_seed(self.seed, "api", "horizon", "simulator", n)
            new, whole = tall_rows(
                self.layout,
                self.source,
                self.theta.float(),
                n - available,
                stream,
                self.conditions,
                stream,
                self.how,
            )
            joined = new if self.x is None else torch.cat([self.x, new], 1)
            self.theta, self.x = self.theta[whole], joined[whole]
        return self.x[:, :n]

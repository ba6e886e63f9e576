"""The Jansen-Rit problem (section 4.3): theta = (C, mu, sigma, g) of the Jansen-Rit model, x its log spectrum.

The 3-D setting fixes the gain g at 0. Every simulation has a number, which names its random stream: parameters come
from the study's seed, noise from the simulation's own stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors.uniform import Uniform
from tallsbi.random import Name, integer_seed
from tallsbi.study.tasks.base import TrainingProblem
from tallsbi.study.tasks.jrnmm.model import PARAMETERS
from tallsbi.study.tasks.jrnmm.simulator import simulate_summaries

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class JansenRit(TrainingProblem):
    """Named by its number of parameters, 3d or 4d; `bounds` of the uniform prior and the true `theta` by parameter."""

    name: str
    bounds: Mapping[str, tuple[float, float]] | None = None
    theta: Mapping[str, float] | None = None

    @property
    def dim_x(self) -> int:
        # Imported here: jobs that only need the prior must not wait for numba.
        from tallsbi.study.tasks.jrnmm.summary import BINS

        return BINS

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return PARAMETERS[: int(self.name.removesuffix("d"))]

    @property
    def stream(self) -> tuple[Name, ...]:
        return "jrnmm", self.dim_theta

    def training_stream(self, n_train: int) -> tuple[Name, ...]:
        return "jrnmm", self.name

    @cached_property
    def prior(self) -> Uniform:
        low, high = zip(*self._configured("bounds", self.bounds), strict=True)
        return Uniform(torch.tensor(low, dtype=torch.float32), torch.tensor(high, dtype=torch.float32))

    def training_parameters(self, count: int, seed: int) -> Float[np.ndarray, "count m"]:
        return self.prior_draws(count, seed, "simulations")

    def true_parameters(self, sets: int) -> Float[np.ndarray, "sets m"]:
        if sets != 1:
            raise ValueError(f"{self.name}: {sets} true parameters asked for; the study has one, give 1.")
        return np.array([self._configured("theta", self.theta)], dtype=np.float32)

    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        return simulate_summaries(theta, int(rng.integers(2**63)))

    def simulations(
        self, theta: Float[np.ndarray, "N m"], seed: int, *purpose: Name, threads: int = 1
    ) -> Float[np.ndarray, "N d"]:
        noise = integer_seed(seed, *self.stream, *purpose, "noise") % 2**63
        return simulate_summaries(theta, noise, threads=threads)

    def observations(
        self, theta: Float[np.ndarray, "B m"], n: int, seed: int, purpose: str, *, threads: int = 1
    ) -> Float[np.ndarray, "B n d"]:
        rows = self.simulations(np.repeat(theta, n, axis=0), seed, purpose, threads=threads)
        return rows.reshape(len(theta), n, self.dim_x)

    def _configured(self, name: str, values: Mapping[str, Value] | None) -> list[Value]:
        if values is None:
            raise ValueError(
                f"{self.name}: this needs jrnmm.{name} of the configuration; pass it in the settings."
            )
        return [values[parameter] for parameter in self.parameter_names]

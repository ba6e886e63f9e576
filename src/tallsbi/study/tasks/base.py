"""The problems of the paper as simulators, and what an sbibm task (section 4.2) offers beyond that.

theta has m = dim_theta coordinates, one observation x has d = dim_x, and n observations of the same theta
are independent. Simulators are numpy in float64; likelihoods are JAX functions in float64, to be
differentiated, compiled and vectorised by whoever samples from the posterior.

A problem decides its parameters and random streams. Those of an sbibm task are the paper's: one stream of torch
with seed 42 gives 50,000 draws of the prior to train on and then the 25 sets theta* to infer. The noise of the
observations is independent between the sets and between the observations.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.base import Prior
from tallsbi.random import Name, numpy_generator, torch_generator

TRAINING_DRAWS = 50_000
PARAMETER_SETS = 25
_PAPER_SEED = 42


class Simulator(ABC):
    """A problem: a prior and a simulator."""

    name: str
    """As in paths and configuration files."""
    dim_x: int
    parameter_names: tuple[str, ...]
    prior: Prior
    """Its latent space is where the diffusion runs (log theta where theta is positive)."""

    @property
    def dim_theta(self) -> int:
        return len(self.parameter_names)

    @abstractmethod
    def simulate(self, theta: Float[np.ndarray, "N m"], rng: np.random.Generator) -> Float[np.ndarray, "N d"]:
        """One observation for each row of theta, in float64.

        The first rows do not depend on how many rows follow: a smaller training set is a prefix of a larger.
        """


class TrainingProblem(Simulator):
    """A simulator that networks are trained for, with its parameters and the random streams of the study."""

    log_x: bool = False
    """True where a network sees log x instead of x."""

    @cached_property
    @abstractmethod
    def prior(self) -> Prior:
        """In float32."""

    @property
    @abstractmethod
    def stream(self) -> tuple[Name, ...]:
        """The beginning of the names of all its random streams."""

    @abstractmethod
    def training_stream(self, n_train: int) -> tuple[Name, ...]:
        """The beginning of the names of the streams of a training on n_train simulations."""

    @abstractmethod
    def training_parameters(self, count: int, seed: int) -> Float[np.ndarray, "count m"]:
        """Parameters to train on, in float32: fewer are a prefix of more."""

    @abstractmethod
    def true_parameters(self, sets: int) -> Float[np.ndarray, "sets m"]:
        """Parameters to infer, in float32."""

    def prior_draws(self, count: int, seed: int, purpose: str) -> Float[np.ndarray, "count m"]:
        """Draws of the prior, in float32, from the stream that `purpose` names: fewer are a prefix of more."""
        return self.prior.sample(count, torch_generator(seed, *self.stream, purpose, "theta")).numpy()

    @abstractmethod
    def simulations(
        self, theta: Float[np.ndarray, "N m"], seed: int, *purpose: Name, threads: int = 1
    ) -> Float[np.ndarray, "N d"]:
        """`simulate` with the random numbers that `purpose` names."""

    @abstractmethod
    def observations(
        self, theta: Float[np.ndarray, "B m"], n: int, seed: int, purpose: str, *, threads: int = 1
    ) -> Float[np.ndarray, "B n d"]:
        """n observations of each row of theta, all with noise of their own."""


class Task(TrainingProblem):
    """A problem with a likelihood. A concrete task sets the attributes and implements the abstract methods."""

    label: str
    """As in figures."""

    normals_before_theta_star: int = 0
    """How many normal numbers the paper's stream held between the training parameters and theta*."""

    @abstractmethod
    def log_likelihood(self, theta: Float[Any, "m"], x: Float[Any, "n d"]) -> Float[Any, ""]:
        """log p(x_1, ..., x_n | theta), a JAX function; what depends on theta alone is computed once.

        Needs JAX in float64: call `use_float64` first.
        """

    def closed_form(
        self, x: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "m"], Float[np.ndarray, "m m"]] | None:
        """Mean and covariance of the posterior where it is Gaussian, None elsewhere."""
        return None

    @property
    def parameter_labels(self) -> tuple[str, ...]:
        """The parameters' names as mathtext, for figures."""
        return tuple("$\\" + re.sub(r"_(\d+)$", r"_{\1}", name) + "$" for name in self.parameter_names)

    @property
    def stream(self) -> tuple[Name, ...]:
        return "sbibm", self.name

    def training_stream(self, n_train: int) -> tuple[Name, ...]:
        return *self.stream, n_train

    def training_parameters(self, count: int, seed: int) -> Float[np.ndarray, "count m"]:
        return self.theta_train(count)

    def true_parameters(self, sets: int) -> Float[np.ndarray, "sets m"]:
        return self.theta_star(sets)

    def simulations(
        self, theta: Float[np.ndarray, "N m"], seed: int, *purpose: Name, threads: int = 1
    ) -> Float[np.ndarray, "N d"]:
        return self.simulate(theta.astype(np.float64), numpy_generator(seed, *self.stream, *purpose))

    def observations(
        self, theta: Float[np.ndarray, "B m"], n: int, seed: int, purpose: str, *, threads: int = 1
    ) -> Float[np.ndarray, "B n d"]:
        streams = partial(numpy_generator, seed, *self.stream, purpose)
        return self.observe(theta.astype(np.float64), n, streams)

    def theta_train(self, count: int = TRAINING_DRAWS) -> Float[np.ndarray, "count m"]:
        """The first `count` training parameters: a smaller set is a prefix of a larger one."""
        if not 0 <= count <= TRAINING_DRAWS:
            raise ValueError(
                f"{self.name}: {count} training parameters asked for; the paper's stream holds "
                f"{TRAINING_DRAWS}, give a count between 0 and that."
            )
        return self._draw(TRAINING_DRAWS, _paper_generator())[:count].numpy().copy()

    def theta_star(self, count: int = PARAMETER_SETS) -> Float[np.ndarray, "count m"]:
        """The parameter sets to infer: the paper's 25, continued from the same stream if more are asked for."""
        generator = _paper_generator()
        self._draw(TRAINING_DRAWS, generator)
        torch.randn(self.normals_before_theta_star, generator=generator)
        # Always blocks of 25: torch's normal generator fills the end of a block differently, so the same
        # parameters come out only for the same block size.
        blocks = [self._draw(PARAMETER_SETS, generator) for _ in range(-(-count // PARAMETER_SETS))]
        return torch.cat([*blocks, torch.empty(0, self.dim_theta)])[:count].numpy().copy()

    def observe(
        self, theta: Float[np.ndarray, "B m"], n: int, rng_for: Callable[[int], np.random.Generator]
    ) -> Float[np.ndarray, "B n d"]:
        """n observations of each parameter set b, all with noise of their own from the stream rng_for(b).

        The first observations do not depend on n.
        """
        x = np.empty((len(theta), n, self.dim_x))
        for b in range(len(theta)):
            rng = rng_for(b)
            for i in range(n):
                x[b, i] = self.simulate(theta[b : b + 1], rng)[0]
        return x

    def _draw(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        """Draws of the prior, bit by bit those of torch.distributions (and so of sbibm) with the same generator."""
        return self.prior.sample(count, generator)


def use_float64() -> None:
    """Switches JAX to float64 for the whole process; likelihoods refuse to work in float32."""
    import jax

    jax.config.update("jax_enable_x64", True)


def float64_numpy() -> Any:
    """`jax.numpy`, after making sure that it computes in float64."""
    import jax

    if not jax.config.jax_enable_x64:
        raise RuntimeError(
            "jax_enable_x64 = False: log-likelihoods need float64; call tallsbi.study.tasks.base.use_float64() first."
        )
    return jax.numpy


def _paper_generator() -> torch.Generator:
    return torch.Generator().manual_seed(_PAPER_SEED)

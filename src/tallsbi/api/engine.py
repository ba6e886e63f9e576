"""Tall posteriors with a trained network: observations in, draws out, both in their own space.

The network, the diffusion and the prior live in the normalised latent space (see `tallsbi.scores.normaliser`);
an engine maps to it and back. All B datasets are solved in one call.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm, Likelihood, Problem
from tallsbi.api.devices import device_of, precision_of
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.priors.base import Prior
from tallsbi.progress import Progress
from tallsbi.samplers.base import Noise, Sampler, Samples
from tallsbi.scores.context import with_context
from tallsbi.scores.learned_prior import LearnedPrior
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.scores.precision import FLOAT32
from tallsbi.shapes import Observations, States

_ROWS_PER_CALL = 2000  # of an embedding


@runtime_checkable
class Summaries(Protocol):
    """What an engine needs of summaries that were learnt beside its network (`tallsbi.summaries`).

    The study samples without: what they are made of must not be a part of the code that its jobs depend on.
    """

    def to(self, device: torch.device | str) -> Summaries: ...

    def bind(self, x: Observations) -> Likelihood: ...

    def calibrated(self, theta: Float[Tensor, "D m"], x: Float[Tensor, "D r d"]) -> Summaries: ...

    def tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]: ...


def normalised_prior(prior: Prior, saved: SavedNetwork, bounds_factor: float = 1.0) -> Prior:
    """The prior as the network sees it, in float64; the bounds of a uniform one times `bounds_factor`."""
    normaliser = saved.normaliser
    normalised = prior.to(dtype=torch.float64).normalised(normaliser.theta_mean, normaliser.theta_std)
    return normalised.widened(bounds_factor)


class Engine(ABC):
    """A trained score with its prior, from which draws are made."""

    prior: Prior
    dtype: torch.dtype
    described: str = "drawn with an engine of its own"

    @abstractmethod
    def problem(self, x: Observations) -> Problem:
        """What an algorithm solves, for observations in their own space."""

    @abstractmethod
    def to_parameter(self, theta: States) -> States:
        """Draws in the parameter's own space, from those of the diffusion's."""

    def with_true_prior(self) -> Engine:
        """The same with the prior's own bounds."""
        return self

    def placed(self, device: Any = None, precision: Any = None) -> Engine:
        """The same on another device or in another precision; None: as it is."""
        for key, value, default in (("device", device, "cpu"), ("precision", precision, FLOAT32)):
            if value is not None and str(value) != default:
                raise ValueError(
                    f"{key} = {str(value)!r}: a {type(self).__name__} draws with {default!r} only, since its network "
                    f"is not one that `fit` made; leave out {key}."
                )
        return self

    def scaled(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        """Observations on the scale of the training range: their own, or logarithms."""
        return x

    def sample(
        self,
        algorithm: Algorithm,
        x: Observations,
        samples: int,
        generators: list[torch.Generator],
        progress: Progress = iter,
    ) -> Samples:
        """Draws in the parameter's own space, float64, on the CPU; `generators`: one, or one per dataset."""
        problem = self._problem_of(algorithm, x)
        noise = Noise(generators, self.dtype, problem.x.device)
        return self._returned(algorithm.sample(problem, samples, noise, progress))

    def sample_both(
        self,
        algorithm: Algorithm,
        x: Observations,
        samples: int,
        generators: list[torch.Generator],
        progress: Progress = iter,
    ) -> tuple[Samples, Samples]:
        """The same of a clipped algorithm without and with its clipping, from the same noise."""
        problem = self._problem_of(algorithm, x)
        noise = Noise(generators, self.dtype, problem.x.device)
        plain, clipped = algorithm.sample_both(problem, samples, noise, progress)
        return self._returned(plain), self._returned(clipped)

    def _problem_of(self, algorithm: Algorithm, x: Observations) -> Problem:
        return (self.with_true_prior() if algorithm.true_prior else self).problem(x)

    def _returned(self, run: Samples) -> Samples:
        return replace(run, theta=self.to_parameter(run.theta.cpu().double()))


@dataclass(frozen=True, eq=False, repr=False)
class NetworkEngine(Engine):
    """A trained network and its prior. `bounds_factor` is 2 where published results are repeated, else 1.

    `learned_covariance` says that the network's own prior score is used, with this covariance [m, m] for its
    precision (see `with_learned_prior`). `summaries` were learnt from the same simulations, for the method CLT.
    `precision`: of the network's hidden products (`tallsbi.scores.precision`).
    """

    saved: SavedNetwork
    prior: Prior
    bounds_factor: float = 1.0
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    learned_covariance: Float[Tensor, "m m"] | None = None
    summaries: Summaries | None = None
    precision: str = FLOAT32

    @property
    def described(self) -> str:  # type: ignore[override]
        """The network and its training in a few words."""
        sizes, facts = self.saved.network.architecture, self.saved.facts
        embedded = getattr(sizes, "embedding", {}).get("kind", "")
        words = f"network {' x '.join(map(str, sizes.hidden))}{f' after {embedded}' if embedded else ''}"
        if "training_rows" in facts:
            words += f", trained on {facts['training_rows']:,} simulations for {facts['epochs']} epochs"
        return words

    def __repr__(self) -> str:
        return f"NetworkEngine({self.described})"

    @property
    def knows_prior(self) -> bool:
        """Whether the network was also trained without context (`TrainingSettings.drop_context`)."""
        return self.saved.network.architecture.x_dim == len(self.saved.normaliser.x_mean) + 1

    def with_learned_prior(self, runner: Sampler, samples: int, generator: torch.Generator) -> NetworkEngine:
        """The same with the prior that the network has learned; its covariance is that of samples of `runner`."""
        if not self.knows_prior:
            raise ValueError(
                "this network has no prior score of its own; train it with drop_context > 0 to give it one."
            )
        plain = self.problem(torch.ones(1, 1, len(self.saved.normaliser.x_mean)))
        empty = torch.zeros_like(plain.x)
        unconditional = FactorisedScore(plain.score.bind(empty), plain.prior, datasets=1)
        noise = Noise([generator], self.dtype, empty.device)
        theta = runner.run(unconditional, samples, noise).theta[0]
        return replace(self, learned_covariance=torch.cov(theta.double().mT))

    def problem(self, x: Observations) -> Problem:
        # A copy: `to` converts a network in place.
        network = copy.deepcopy(self.saved.network).to(dtype=self.dtype, device=self.device)
        score = NetworkScore(network, self.saved.schedule, self.precision)
        inputs = self.saved.normaliser.x(x.double()).to(dtype=self.dtype, device=self.device)
        if self.knows_prior:
            inputs = with_context(inputs)
        if self.learned_covariance is not None:
            empty = torch.zeros_like(inputs[:1, :1])
            return Problem(score, LearnedPrior(score, empty, self.learned_covariance), inputs)
        prior = normalised_prior(self.prior, self.saved, self.bounds_factor)
        bound = None
        if self.summaries is not None:
            bound = self.summaries.to(self.device).bind(self._features(x).to(self.device))
        return Problem(score, prior.to(dtype=self.dtype, device=self.device), inputs, bound)

    def placed(self, device: Any = None, precision: Any = None) -> NetworkEngine:
        place = self.device if device is None else device_of(device)
        chosen = precision_of(self.precision if precision is None else precision, place)
        return replace(self, device=place, precision=chosen)

    def with_true_prior(self) -> NetworkEngine:
        return replace(self, bounds_factor=1.0)

    def with_summaries(
        self,
        latent: Float[Tensor, "N m"],
        x: Float[Tensor, "N d"],
        learn: Callable[[Tensor, Tensor], Summaries | None],
    ) -> NetworkEngine:
        """The same with summaries learnt from these simulations, for the method CLT.

        `learn` is given parameters in the space of the diffusion and observations as the network sees them.
        """
        theta = self.saved.normaliser.theta(latent)
        learnt = learn(theta.to(self.device), self._features(x).to(self.device))
        return replace(self, summaries=None if learnt is None else learnt.to("cpu"))

    def with_repeats(self, latent: Float[Tensor, "D m"], x: Float[Tensor, "D r d"]) -> NetworkEngine:
        """The same with summaries calibrated by r observations of each of D parameters."""
        if self.summaries is None or not len(x):
            return self
        theta = self.saved.normaliser.theta(latent)
        return replace(self, summaries=self.summaries.calibrated(theta, self._features(x)))

    @torch.no_grad()
    def _features(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b e"]:
        """Observations as the network sees them: standardised, and embedded where it has an embedding."""
        rows = self.saved.normaliser.x(x.double()).float().reshape(-1, x.shape[-1])
        rows = with_context(rows) if self.knows_prior else rows
        embedding = self.saved.network.x_embedding
        blocks = [embedding(block) for block in rows.split(_ROWS_PER_CALL)]
        return torch.cat(blocks).reshape(*x.shape[:-1], -1)

    def to_parameter(self, theta: States) -> States:
        return self.prior.to_parameter(self.saved.normaliser.latent(theta))

    def scaled(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        if not self.saved.normaliser.log_x:
            return x
        outside = (x <= 0).nonzero()
        if len(outside):
            *place, coordinate = (int(i) for i in outside[0])
            where = " of dataset ".join(str(i) for i in reversed(place))
            raise ValueError(
                f"x_obs: observation {where} is {float(x[tuple(outside[0])]):g} in coordinate {coordinate}, but the "
                "network was trained with log_x = True: only positive observations have a logarithm."
            )
        return x.log()

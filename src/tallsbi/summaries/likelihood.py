"""The likelihood of many observations through the mean of summaries (a synthetic likelihood).

The summary phi(x) of a single observation is the posterior mean of theta, learnt by regression. From the same
simulations a second regression learns the mean h(theta) and covariance C(theta) of the summaries. By the central
limit theorem the mean of n of them is

    mean_j phi(x_j) ~ N(h(theta), C(theta) / n),

whatever the law of a single one, and what the networks get wrong does not add up with n: h is the mean of the very
summaries that are averaged. A summary that says too little makes the posterior wider, not wrong.

h is estimated, and its error does not shrink with n: the posterior is computed with C (noise / n + variance), where
`variance` is that error squared (`tallsbi.summaries.crossfit` estimates both numbers). Errors that all networks share
show only in repeated simulations of the same parameters (`calibrated`).

Draws begin at a mixture of single posteriors of some of the observations (`tallsbi.summaries.beginning`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.shapes import Observations, States
from tallsbi.summaries.beginning import Beginning
from tallsbi.summaries.crossfit import EPOCHS, LEAST_NOISE_SHARE, average, crossfit, departures, jackknife
from tallsbi.summaries.maps import ColumnMap, Whitening
from tallsbi.summaries.regression import ConditionalGaussian
from tallsbi.summaries.variance import VarianceLaw

_BEGINNING_OBSERVATIONS = 16  # draws begin at the single posteriors of so many
_BLOCK_ROWS = 4000  # parameters that go through the networks together: what a layer gives stays in the cache
_CHANCE_ERRORS = 2.0  # standard errors: a smaller excess over `variance` may be chance


@dataclass(frozen=True, eq=False)
class SummaryLikelihood:
    """`theta` whitens the network's parameters, `x` the observations, `phi` the average of the regressions.

    `laws`: of the summaries, given theta; `noise`: the variance of a single summary, and `variance`: the squared
    error of h, on average over the prior, both in units of C; `variance_law`: that error where theta is, if known.
    """

    theta: Whitening
    x: ColumnMap
    regressions: tuple[ConditionalGaussian, ...]
    phi: Whitening
    laws: tuple[ConditionalGaussian, ...]
    noise: float
    variance: float
    variance_law: VarianceLaw | None = None

    @classmethod
    def fit(
        cls,
        theta: Float[Tensor, "N m"],
        x: Float[Tensor, "N d"],
        seed: int,
        epochs: int = EPOCHS,
        seconds: float = math.inf,
    ) -> SummaryLikelihood | None:
        """From parameters in the space of the diffusion, and observations as the network sees them.

        None where single posteriors have two modes, of which a mean says nothing. `seconds`: time for all trainings.
        """
        theta_map, x_map = Whitening.of(theta), ColumnMap.of(x)
        learnt = crossfit(theta_map(theta), x_map(x), seed, epochs, seconds)
        return None if learnt is None else cls(theta_map, x_map, **vars(learnt))

    @torch.no_grad()
    def calibrated(self, theta: Float[Tensor, "D m"], x: Float[Tensor, "D r d"]) -> SummaryLikelihood:
        """With the error of h where theta is, by r observations of each of D parameters; theta and x as for `fit`.

        On average it is `variance`, if the departures are larger by chance at most.
        """
        v, r = self.theta(theta), x.shape[1]
        departure = departures(self.laws, v, self.summaries(x).mean(1))
        standard_error = float(departure.std()) / len(departure) ** 0.5
        # A mean of r summaries departs by noise / r + variance, a single one by their sum, which is known.
        total = self.noise + self.variance
        average = (float(departure.mean()) - total / r) / (1 - 1 / r)
        known = not average - _CHANCE_ERRORS * standard_error > self.variance
        disagreement = jackknife(self.laws, v)
        law = VarianceLaw.fit(
            departure,
            disagreement,
            total,
            self.variance if known else average,
            repeats=r,
            dim=self.laws[0].targets,
            known_average=known,
        )
        variance = self.variance if known else float(law(disagreement).mean())
        noise = max(total - variance, LEAST_NOISE_SHARE * total)
        return replace(self, variance=variance, noise=noise, variance_law=law)

    def summaries(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b k"]:
        """phi(x) of single observations."""
        flat = x.reshape(-1, x.shape[-1])
        blocks = [self.phi(average(self.regressions, self.x(block))) for block in flat.split(10_000)]
        return torch.cat(blocks).reshape(*x.shape[:-1], -1)

    def to(self, device: torch.device | str) -> SummaryLikelihood:
        """The same on a device."""
        if self.theta.mean.device == torch.device(device):
            return self
        regressions, laws = (
            tuple(copy.deepcopy(network).to(device) for network in networks)
            for networks in (self.regressions, self.laws)
        )
        theta, x, phi = self.theta.to(device), self.x.to(device), self.phi.to(device)
        return replace(self, theta=theta, x=x, phi=phi, regressions=regressions, laws=laws)

    def bind(self, x: Observations) -> BoundSummaries:
        return BoundSummaries(self, x)

    def _log_density(
        self, v: Float[Tensor, "N m"], y: Float[Tensor, "N k"], n: int, variance: float | Float[Tensor, "N"]
    ) -> Float[Tensor, "N"]:
        """Of the mean y of n summaries, averaged over the laws, up to a constant."""
        weight = n / (self.noise + n * torch.as_tensor(variance, device=v.device).expand(len(v)))
        blocks = zip(*(tensor.split(_BLOCK_ROWS) for tensor in (v, y, weight)), strict=True)
        return torch.cat([self._log_density_of_block(*block) for block in blocks])

    def _log_density_of_block(
        self, v: Float[Tensor, "N m"], y: Float[Tensor, "N k"], weight: Float[Tensor, "N"]
    ) -> Float[Tensor, "N"]:
        total = torch.zeros(len(v), device=v.device)
        for law in self.laws:
            departure, log_diagonal = law.standardised(v, y)
            total = total + log_diagonal.sum(1) - 0.5 * weight * departure.square().sum(1)
        return total / len(self.laws)

    def tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors and the header of a file, for `restored`."""
        maps = {"theta": self.theta, "x": self.x.whitening, "phi": self.phi}
        tensors = {
            f"{name}.{key}": getattr(whitening, key)
            for name, whitening in maps.items()
            for key in ("mean", "matrix")
        }
        tensors |= {"x.centre": self.x.centre, "x.scale": self.x.scale}
        sizes = {}
        for kind, networks in (("regression", self.regressions), ("law", self.laws)):
            for number, network in enumerate(networks):
                name = f"{kind}{number}"
                tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
                sizes[name] = [network.inputs, network.targets, network.width, network.depth]
        law = None if self.variance_law is None else vars(self.variance_law)
        return tensors, {
            "noise": self.noise,
            "variance": self.variance,
            "variance_law": law,
            "networks": sizes,
        }

    @classmethod
    def restored(cls, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> SummaryLikelihood:
        def whitening(name: str) -> Whitening:
            return Whitening(tensors[f"{name}.mean"], tensors[f"{name}.matrix"])

        def network(name: str) -> ConditionalGaussian:
            restored = ConditionalGaussian(*header["networks"][name])
            prefix = f"{name}."
            restored.load_state_dict(
                {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            )
            return restored.requires_grad_(False)

        x = ColumnMap(tensors["x.centre"], tensors["x.scale"], whitening("x"))
        names = header["networks"]
        regressions, laws = (
            tuple(network(name) for name in names if name.startswith(kind)) for kind in ("regression", "law")
        )
        noise, variance = float(header["noise"]), float(header["variance"])
        law = header.get("variance_law")
        variance_law = None if law is None else VarianceLaw(**law)
        phi = whitening("phi")
        return cls(whitening("theta"), x, regressions, phi, laws, noise, variance, variance_law)


@dataclass(frozen=True, eq=False)
class BoundSummaries:
    """The n observations of each of B datasets, seen through the mean of their summaries.

    `variance`: the squared error of h for each dataset; None: its average over the prior.
    """

    likelihood: SummaryLikelihood
    x: Observations
    variance: Float[Tensor, "B"] | None = None

    @cached_property
    def mean(self) -> Float[Tensor, "B k"]:
        return self.likelihood.summaries(self.x).double().mean(1).float()

    @cached_property
    def beginning(self) -> Beginning:
        """Single posteriors of some of the observations, in the space of the diffusion."""
        chosen = self.x[:, :_BEGINNING_OBSERVATIONS]
        flat = self.likelihood.x(chosen.reshape(-1, chosen.shape[-1]))
        B, J = chosen.shape[:2]
        # A different regression for each observation in turn.
        networks = self.likelihood.regressions
        with torch.no_grad():
            outputs = [network(flat) for network in networks]
        turn = torch.arange(B * J, device=flat.device) % J % len(networks)
        rows = torch.arange(B * J, device=flat.device)
        mean, root = (torch.stack([output[part] for output in outputs])[turn, rows] for part in (0, 1))
        return Beginning(self.likelihood.theta, mean.unflatten(0, (B, J)), root.unflatten(0, (B, J)))

    @property
    def depends_on_place(self) -> bool:
        """Whether the error of h is known where theta is, not on average only."""
        return self.likelihood.variance_law is not None

    def near(self, theta: States) -> BoundSummaries:
        """With the error of h at draws of the posteriors, as far as it is known."""
        law = self.likelihood.variance_law
        if law is None:
            return self
        variance = law(jackknife(self.likelihood.laws, self._white(theta))).view(theta.shape[:2]).mean(1)
        bound = replace(self, variance=variance.float())
        # They stay the same, and need not be computed again.
        vars(bound).update(mean=self.mean, beginning=self.beginning)
        return bound

    def log_prob(self, theta: States) -> Float[Tensor, "B S"]:
        """Log likelihood of parameters in the space of the diffusion, up to a constant."""
        B, S, _ = theta.shape
        y = self.mean[:, None].expand(B, S, -1).reshape(B * S, -1)
        known = self.variance
        variance = self.likelihood.variance if known is None else known.repeat_interleave(S)
        return self.likelihood._log_density(self._white(theta), y, self.x.shape[1], variance).view(B, S)

    def _white(self, theta: States) -> Float[Tensor, "N m"]:
        matrix, centre = self.likelihood.theta.matrix.float(), self.likelihood.theta.mean.float()
        return ((theta - centre) @ matrix).flatten(0, 1)

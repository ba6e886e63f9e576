"""The likelihood of many observations through the mean of summaries (a synthetic likelihood).

The summary phi(x) of a single observation is the posterior mean of theta, learnt by regression. Of the same
simulations a second regression learns the mean h(theta) and covariance C(theta) of the summaries. By the central
limit theorem the mean of n of them is

    mean_j phi(x_j) ~ N(h(theta), C(theta) / n),

whatever the law of a single one, and what the networks get wrong does not add up with n: h is the mean of the very
summaries that are averaged. A summary that says too little makes the posterior wider, not wrong.

h is estimated, and its error does not shrink with n. Two networks learn from one half of the simulations each; how
far they disagree gives the variance v C of the mean of both, and the posterior is computed with C (1 / n + v). What
both get wrong alike, because summaries know the simulations they were learnt of or because networks are too smooth,
only repeated simulations of the same parameters show (`calibrated`).

Draws begin where single observations point to: at a mixture of what the regression says of some of them.
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

from tallsbi.random import integer_seed
from tallsbi.shapes import Observations, States
from tallsbi.summaries.beginning import Beginning
from tallsbi.summaries.maps import ColumnMap, Whitening
from tallsbi.summaries.regression import ConditionalGaussian, apply, train

EPOCHS = 120
_HELD_OUT = 0.1  # of the simulations, and at least
_FEWEST_HELD_OUT = 20
_TWO_MODES = 1.6  # kurtosis: a normal law has 3, a uniform one 1.8, two narrow modes 1
_TRIMMED = 0.05  # share of the largest disagreements left out
_BEGINNING = 16  # observations whose single posteriors draws begin with
_BY_CHANCE = 2.0  # standard errors that repeated simulations may show without meaning it


@dataclass(frozen=True, eq=False)
class SummaryLikelihood:
    """`theta` whitens the network's parameters, `x` the observations, `phi` what the regression of theta says."""

    theta: Whitening
    x: ColumnMap
    regression: ConditionalGaussian
    phi: Whitening
    halves: tuple[ConditionalGaussian, ConditionalGaussian]
    variance: float

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

        None where single posteriors have two modes, of which a mean says nothing. `seconds`: time for all of it.
        """
        theta_map, x_map = Whitening.of(theta), ColumnMap.of(x)
        v, u = theta_map(theta), x_map(x)
        generator = torch.Generator().manual_seed(integer_seed(seed, "summaries", "split"))
        order = torch.randperm(len(v), generator=generator).to(v.device)
        count = min(max(_FEWEST_HELD_OUT, round(_HELD_OUT * len(v))), len(v) // 3)
        held, rows = order[:count], order[count:]
        seeds = [integer_seed(seed, "summaries", name) for name in ("phi", "half0", "half1")]
        regression = train(u[rows], v[rows], u[held], v[held], epochs, seeds[0], seconds / 3)
        if _two_modes(regression, u[held], v[held]):
            return None
        phi = Whitening.of(_means(regression, u[rows]))
        y = phi(_means(regression, u))
        # As many steps as with all rows.
        first, second = (
            train(v[half], y[half], v[held], y[held], 2 * epochs, half_seed, seconds / 3)
            for half, half_seed in zip(rows.tensor_split(2), seeds[1:], strict=True)
        )
        variance = _disagreement((first, second), v[held])
        return cls(theta_map, x_map, regression, phi, (first, second), variance)

    @torch.no_grad()
    def calibrated(self, theta: Float[Tensor, "D m"], x: Float[Tensor, "D r d"]) -> SummaryLikelihood:
        """With the error of h that r observations of each of D parameters show, if it is larger than what the halves
        disagree by and no chance; theta and x as for `fit`."""
        v, mean, r = self.theta(theta), self.summaries(x).mean(1), x.shape[1]
        squared = torch.stack(
            [apply(root, mean - h).square() for h, root, _ in (net(v) for net in self.halves)]
        )
        # The law averages the log densities of both networks, and so their squared departures.
        each = squared.double().mean((0, 2))
        shown, chance = float(each.mean()) - 1 / r, float(each.std()) / len(each) ** 0.5
        return replace(self, variance=shown) if shown - _BY_CHANCE * chance > self.variance else self

    def summaries(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b k"]:
        """phi(x) of single observations."""
        flat = x.reshape(-1, x.shape[-1])
        parts = [self.phi(_means(self.regression, self.x(part))) for part in flat.split(10_000)]
        return torch.cat(parts).reshape(*x.shape[:-1], -1)

    def to(self, device: torch.device | str) -> SummaryLikelihood:
        """The same on a device."""
        if self.theta.mean.device == torch.device(device):
            return self
        regression, *halves = (copy.deepcopy(each).to(device) for each in (self.regression, *self.halves))
        maps = self.theta.to(device), self.x.to(device), regression, self.phi.to(device)
        return SummaryLikelihood(*maps, (halves[0], halves[1]), self.variance)

    def bind(self, x: Observations) -> BoundSummaries:
        return BoundSummaries(self, x)

    def _log_density(self, v: Float[Tensor, "N m"], y: Float[Tensor, "N k"], n: int) -> Float[Tensor, "N"]:
        """Of the mean y of n summaries, averaged over the two networks; constants left out."""
        total = torch.zeros(len(v), device=v.device)
        weight = n / (1 + n * self.variance)
        for network in self.halves:
            mean, root, log_diagonal = network(v)
            departure = apply(root, y - mean)
            total = total + log_diagonal.sum(1) - 0.5 * weight * departure.square().sum(1)
        return total / len(self.halves)

    def tensors(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What `restored` takes."""
        maps = {"theta": self.theta, "x": self.x.whitening, "phi": self.phi}
        tensors = {
            f"{name}.{key}": getattr(each, key) for name, each in maps.items() for key in ("mean", "matrix")
        }
        tensors |= {"x.centre": self.x.centre, "x.scale": self.x.scale}
        networks = {"regression": self.regression, "half0": self.halves[0], "half1": self.halves[1]}
        sizes = {}
        for name, network in networks.items():
            tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
            sizes[name] = [network.inputs, network.targets, network.width, network.depth]
        return tensors, {"variance": self.variance, "networks": sizes}

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
        halves = network("half0"), network("half1")
        variance = float(header["variance"])
        return cls(whitening("theta"), x, network("regression"), whitening("phi"), halves, variance)


@dataclass(frozen=True, eq=False)
class BoundSummaries:
    """The n observations of each of B datasets, seen through the mean of their summaries."""

    likelihood: SummaryLikelihood
    x: Observations

    @cached_property
    def mean(self) -> Float[Tensor, "B k"]:
        return self.likelihood.summaries(self.x).double().mean(1).float()

    @cached_property
    def beginning(self) -> Beginning:
        """What the regression says of some of the observations, in the space of the diffusion."""
        chosen = self.x[:, :_BEGINNING]
        flat = self.likelihood.x(chosen.reshape(-1, chosen.shape[-1]))
        with torch.no_grad():
            mean, root, _ = self.likelihood.regression(flat)
        B, J = chosen.shape[:2]
        return Beginning(self.likelihood.theta, mean.unflatten(0, (B, J)), root.unflatten(0, (B, J)))

    def log_prob(self, theta: States) -> Float[Tensor, "B S"]:
        """Log likelihood of parameters in the space of the diffusion, but for a constant."""
        B, S, m = theta.shape
        matrix, centre = self.likelihood.theta.matrix.float(), self.likelihood.theta.mean.float()
        v = ((theta - centre) @ matrix).reshape(-1, m)
        y = self.mean[:, None].expand(B, S, -1).reshape(B * S, -1)
        return self.likelihood._log_density(v, y, self.x.shape[1]).view(B, S)


@torch.no_grad()
def _means(network: ConditionalGaussian, u: Float[Tensor, "N d"]) -> Float[Tensor, "N k"]:
    return network(u)[0]


@torch.no_grad()
def _two_modes(regression: ConditionalGaussian, u: Float[Tensor, "V d"], v: Float[Tensor, "V m"]) -> bool:
    """Whether what a regression leaves of a parameter is at two ends and hardly between."""
    mean, root, _ = regression(u)
    left = apply(root, v - mean).double()
    left = ((left - left.mean(0)) / left.std(0)).clamp(-5, 5)
    return bool((left.pow(4).mean(0) < _TWO_MODES).any())


@torch.no_grad()
def _disagreement(halves: tuple[ConditionalGaussian, ...], v: Float[Tensor, "V m"]) -> float:
    """Variance of the mean of both, in units of C: two means of variance w differ by 2 w, their mean has w / 2."""
    (first, root, _), (second, _, _) = (network(v) for network in halves)
    squared = apply(root, first - second).square().mean(1)
    kept = squared.sort().values[: max(1, round((1 - _TRIMMED) * len(squared)))]
    return float(kept.mean()) / 4

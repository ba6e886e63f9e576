"""Tempered particles: from a law that can be drawn from to the posterior, one power of their ratio after the other.

Sequential Monte Carlo (Del Moral, Doucet and Jasra, 2006). With the prior as the first law the ratio is the likelihood.
The power is raised until the effective number of particles is half of their number, particles are drawn anew in
proportion to their weights, and a few Metropolis-adjusted Langevin steps with the particles' own covariance move them.
Several modes are kept as long as particles are in each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.samplers.base import Noise
from tallsbi.shapes import States

LogDensity = Callable[[Tensor], Tensor]

_LEAST_EFFECTIVE_SHARE = 0.5  # of the particles, after a rise of the power
_BISECTIONS = 30
_MAX_RISES = 200
_ACCEPTANCE = 0.6  # of Langevin steps, which the step size is adapted to
_STEP_RANGE = (0.02, 2.0)
_SMALLEST_RISE = 1e-7


@dataclass(frozen=True)
class _Place:
    """Particles, the log density of the first law and the log ratio there, and their gradients."""

    theta: Float[Tensor, "B S m"]
    ratio: Float[Tensor, "B S"]
    first: Float[Tensor, "B S"]
    ratio_gradient: Float[Tensor, "B S m"]
    first_gradient: Float[Tensor, "B S m"]

    def where(self, accepted: Tensor, other: _Place) -> _Place:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Place(
            *(torch.where(accepted[..., None] if a.ndim == 3 else accepted, a, b) for a, b in pairs)
        )

    def gather(self, index: Tensor) -> _Place:
        wide = index[..., None].expand(-1, -1, self.theta.shape[-1])
        return _Place(*(v.gather(1, wide if v.ndim == 3 else index) for v in vars(self).values()))


class Particles:
    """`start`: draws of the law `first`, [B, S, m]; the log densities take such arrays and give [B, S]."""

    def __init__(self, start: States, target: LogDensity, first: LogDensity, noise: Noise) -> None:
        self._target, self._first, self._noise = target, first, noise
        self.place = self._evaluate(start)
        B, _, m = start.shape
        self.power = torch.zeros(B, device=start.device)
        self._step = torch.full((B,), 1.2 / m ** (1 / 6), device=start.device)

    def rise(self) -> bool:
        """Raises the power of the ratio and draws the particles anew; False once it is one."""
        if bool((self.power >= 1).all()):  # the only time per rise that the host waits for a GPU
            return False
        self._rise()
        return True

    def _rise(self) -> None:
        level = self.place.ratio.double().clamp_min(-1e30)
        low, high = self.power.double(), torch.ones_like(self.power, dtype=torch.float64)
        reaches_one = self._effective_share(level, high) >= _LEAST_EFFECTIVE_SHARE
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            enough = self._effective_share(level, middle) >= _LEAST_EFFECTIVE_SHARE
            low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
        # A ratio that is far too steep must not stop the rise for good.
        power = torch.where(reaches_one, 1.0, torch.maximum(low, self.power + _SMALLEST_RISE)).clamp_max(1.0)
        weights = torch.softmax((power - self.power)[:, None] * level, 1)
        B, S = weights.shape
        uniform = torch.special.ndtr(self._noise(B, 1, 1)[:, :, 0].double())
        grid = (torch.arange(S, dtype=torch.float64, device=uniform.device) + uniform) / S
        self.place = self.place.gather(torch.searchsorted(weights.cumsum(1), grid).clamp_max(S - 1))
        self.power = power.float()

    def _effective_share(self, level: Tensor, power: Tensor) -> Tensor:
        weights = torch.softmax((power - self.power)[:, None] * level, 1)
        return 1 / weights.square().sum(1) / weights.shape[1]

    def move(self, times: int) -> None:
        """Langevin steps at the present power."""
        theta = self.place.theta.double()
        B, S, m = theta.shape
        centred = theta - theta.mean(1, keepdim=True)
        covariance = centred.mT @ centred / S
        scale = covariance.diagonal(dim1=1, dim2=2).mean(1)[:, None, None].clamp_min(1e-30)
        covariance = covariance + 1e-9 * scale * torch.eye(m, dtype=torch.float64, device=theta.device)
        root, covariance = torch.linalg.cholesky(covariance).float(), covariance.float()
        for _ in range(times):
            place, step = self.place, self._step[:, None, None]
            z = self._noise(B, S, m).float()
            proposal = self._evaluate(
                place.theta + self._drift(place, covariance, root) + step * (z @ root.mT)
            )
            back = place.theta - proposal.theta - self._drift(proposal, covariance, root)
            white = torch.linalg.solve_triangular(root, (back / step).mT, upper=False)
            gain = self.power[:, None] * (proposal.ratio - place.ratio) + proposal.first - place.first
            gain = gain + 0.5 * z.square().sum(-1) - 0.5 * white.square().sum(1)
            accepted = torch.special.ndtr(self._noise(B, S, 1)[..., 0].float()).log() < gain
            self.place = proposal.where(accepted, place)
            rate = accepted.float().mean(1)
            self._step = (self._step * torch.exp(0.3 * (rate - _ACCEPTANCE))).clamp(*_STEP_RANGE)

    def _drift(self, place: _Place, covariance: Tensor, root: Tensor) -> Tensor:
        gradient = self.power[:, None, None] * place.ratio_gradient + place.first_gradient
        step = self._step[:, None, None]
        drift = 0.5 * step * step * (gradient @ covariance)
        length = torch.linalg.solve_triangular(root, drift.mT, upper=False).norm(dim=1)[..., None]
        return drift / (1 + 0.5 * length)  # tamed: a steep place must not throw a particle away

    def _evaluate(self, theta: States) -> _Place:
        with torch.enable_grad():
            point = theta.detach().requires_grad_(True)
            values = self._target(point), self._first(point)
            target_gradient, first_gradient = (_gradient(value, point) for value in values)
        target, first = (value.detach() for value in values)
        ratio, first = (
            torch.where(value.isnan(), -torch.inf, value).float() for value in (target - first, first)
        )
        return _Place(theta.detach(), ratio, first, target_gradient - first_gradient, first_gradient)


def _gradient(value: Tensor, point: Tensor) -> Tensor:
    if not value.requires_grad:  # a flat density, such as a uniform prior's
        return torch.zeros_like(point)
    (gradient,) = torch.autograd.grad(value.sum(), point)
    return gradient.nan_to_num(0.0, 0.0, 0.0)


def temper(particles: Particles, moves: int, last_moves: int) -> States:
    """Draws of the posterior; `moves` after each rise of the power, `last_moves` at the end, in fives."""
    for _ in range(_MAX_RISES):
        if not particles.rise():
            break
        particles.move(moves)
    # The covariance is that of the posterior now, and so are the steps.
    for _ in range(0, last_moves, 5):
        particles.move(5)
    return particles.place.theta

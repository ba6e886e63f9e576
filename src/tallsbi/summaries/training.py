"""Training of several conditional Gaussians of one shape at once, each on simulations of its own.

Adam in cycles, each twice as long as the one before, until the held-out loss does not improve any more, or the gains
fall so fast that the longest cycle would not be worth its time. The weights with the lowest held-out loss are kept. Few
rows are learnt in the first cycle, and later ones overfit; where noise is small, the last cycle decides.

A network begins as a linear regression, and stays one unless it becomes better by more than chance. Where the first
cycle does not achieve that, it is taken back, and the next ones take smaller steps.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.summaries.regression import ConditionalGaussian
from tallsbi.summaries.stack import Stack
from tallsbi.training.adam import Adam

_RATE, _WARM_UP = 8e-3, 0.03  # an eighth leaves narrow posteriors 1.6 times as wide (docs/research.md)
_RETREAT = 0.25  # factor on the rate after a first cycle that was no better than the linear regression
_BATCH = 256
_LARGEST_GRADIENT = 10.0
# Lengths relative to `epochs`; the learning rate falls to zero in each.
_CYCLES = (1 / 7, 2 / 7, 4 / 7, 8 / 7)
_LEAST_IMPROVEMENT = 1e-3  # of the held-out loss per target; a cycle that brings less is the last
_STRAYS = 0.01  # of the held-out rows, those with the largest losses: they would decide for all others
_CHANCE = 2.0  # standard errors: by how much a linear regression must be beaten


@dataclass(frozen=True, eq=False)
class Simulations:
    """What one network learns, y given u, and the rows that are held out to judge it."""

    u: Float[Tensor, "N i"]
    y: Float[Tensor, "N k"]
    held_u: Float[Tensor, "V i"]
    held_y: Float[Tensor, "V k"]


def train(
    simulations: Sequence[Simulations],
    seeds: Sequence[int],
    epochs: int,
    seconds: float = math.inf,
    depth: int = 3,
) -> tuple[ConditionalGaussian, ...]:
    """One network for each; after `seconds` no step is taken."""
    end = time.monotonic() + seconds
    learners = [_Learner(data, seed, depth) for data, seed in zip(simulations, seeds, strict=True)]
    shortest = min(len(data.u) for data in simulations)
    batch = min(_BATCH, shortest)
    total = max(50, math.ceil(epochs * shortest / batch))
    for share in _CYCLES:
        learning = [learner for learner in learners if not learner.done]
        if not learning or time.monotonic() > end:
            break
        _cycle(learning, max(1, round(share * total)), batch, shortest, end)
        for learner in learning:
            learner.judge()
    return tuple(learner.best() for learner in learners)


class _Learner:
    """One network, its best weights so far, and its learning rate."""

    def __init__(self, data: Simulations, seed: int, depth: int) -> None:
        self.data, self.rate, self.done = data, _RATE, False
        self.network = ConditionalGaussian.start(data.u, data.y, seed, depth)
        self.generator = torch.Generator().manual_seed(seed)
        self._linear = True  # so far
        self._gains: list[float] = []  # of the held-out loss, by the cycles since the last retreat
        self._keep(self._held_out_losses())

    def judge(self) -> None:
        """After a cycle: keeps the weights if they are the best, and decides how to go on."""
        losses, least = self._held_out_losses(), _LEAST_IMPROVEMENT * self.network.targets
        gain = _mean(self._losses) - _mean(losses)
        if gain > (_chance(self._losses - losses) if self._linear else 0.0):
            self._linear = False
            self._keep(losses)
        elif not self._gains and self.rate == _RATE:
            self.network.load_state_dict(self._weights)
            self.rate *= _RETREAT
            return
        # The gain of the first cycle is that over a linear regression, and says nothing of the next ones.
        expected = gain * gain / self._gains[-1] if len(self._gains) > 1 else gain
        self._gains.append(gain)
        self.done = not min(gain, expected) >= least

    def best(self) -> ConditionalGaussian:
        self.network.load_state_dict(self._weights)
        # Parameters of their own: those of a stack would keep the whole stack in memory.
        return copy.deepcopy(self.network).requires_grad_(False)

    def _keep(self, losses: Float[Tensor, "V"]) -> None:
        self._weights = {key: value.clone() for key, value in self.network.state_dict().items()}
        self._losses = losses

    @torch.no_grad()
    def _held_out_losses(self) -> Float[Tensor, "V"]:
        return self.network.loss(self.data.held_u, self.data.held_y).double()


def trimmed_mean(values: Float[Tensor, "V"], share: float) -> float:
    """Without the largest `share` of them."""
    return float(values.sort().values[: _kept(len(values), share)].mean())


def _kept(count: int, share: float) -> int:
    return max(1, round((1 - share) * count))


def _mean(losses: Float[Tensor, "V"]) -> float:
    """Without strays."""
    return trimmed_mean(losses, _STRAYS) if bool(losses.isfinite().all()) else math.inf


def _chance(differences: Float[Tensor, "V"]) -> float:
    """What a mean difference may be by chance, without the largest ones; nothing where one side is infinite."""
    if not bool(differences.isfinite().all()):
        return 0.0
    count = _kept(len(differences), _STRAYS)
    usual = differences.gather(0, differences.abs().argsort()[:count])
    return _CHANCE * float(usual.std(correction=0)) / math.sqrt(count)


def _cycle(learners: Sequence[_Learner], steps: int, batch: int, shortest: int, end: float) -> None:
    """One cycle of `steps` for all; each pass takes `shortest` rows of each one's simulations."""
    stack = Stack([learner.network for learner in learners])
    optimisers = [Adam(row, learner.rate) for row, learner in zip(stack.weights, learners, strict=True)]
    u, y = (torch.cat([getattr(learner.data, name) for learner in learners]) for name in ("u", "y"))
    starts = [0, *torch.tensor([len(learner.data.u) for learner in learners]).cumsum(0).tolist()]
    order = torch.empty(len(learners), 0, dtype=torch.int64)
    for step in range(steps):
        if time.monotonic() > end:
            break
        if order.shape[1] < batch:
            shuffled = (
                torch.randperm(len(one.data.u), generator=one.generator)[:shortest] for one in learners
            )
            order = torch.stack([start + rows for start, rows in zip(starts, shuffled, strict=False)]).to(
                u.device
            )
        rows, order = order[:, :batch], order[:, batch:]
        stack(u[rows], y[rows])
        stack.clip(_LARGEST_GRADIENT)
        share = min(1.0, (step + 1) / (_WARM_UP * steps)) * _cosine(step / steps)
        for learner, optimiser, gradient in zip(learners, optimisers, stack.gradient, strict=True):
            optimiser.learning_rate = learner.rate * share
            optimiser.step(gradient)


def _cosine(progress: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * progress))

"""A score network evaluated for every sample and every observation at once.

Tall evaluation needs eps(theta_s, x_j, t) for all pairs (s, j). The first layer of the trunk is linear in its
three parts, so

    W1 [theta_s, x_j, features(t)] + b1 = (Wt theta_s + Wf features(t)) + (Wx x_j + b1):

the second bracket is made once per `bind`, the first once per sample, and a pair costs one addition. All this
and the rest of the trunk runs in blocks of `_ROWS_ON_CPU` pairs whose activations stay in cache, in two buffers that
every block uses again: no [B, S, hidden] tensor is ever made, let alone one of [B, S, n, hidden].

Jacobians in theta go forward through the same blocks: each pair carries its activation and the m columns of
its derivative, [1 + m, rows, hidden], through one matrix product per layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from tallsbi.schedule import Schedule
from tallsbi.scores.base import BoundScore, Score
from tallsbi.scores.network import LAYER_NORM_EPS, MLP, ScoreNetwork, time_features
from tallsbi.shapes import Jacobians, Observations, Scores, States

_ROWS_ON_CPU = 600  # on a CPU: two buffers of 600 x 256 floats fill an L2 cache
_ROWS_ON_ACCELERATOR = 2**16  # an accelerator wants large products


@dataclass(frozen=True, eq=False)
class _Trunk:
    """Weights of the trunk, detached and transposed; the first layer in its parts."""

    w_theta: Float[Tensor, "p h"]
    w_x: Float[Tensor, "q h"]
    w_time: Float[Tensor, "f h"]
    bias: Float[Tensor, "h"]
    middle: list[tuple[Tensor, Tensor]]
    w_out: Float[Tensor, "g m"]
    bias_out: Float[Tensor, "m"]
    layer_norm: bool

    @classmethod
    def of(cls, mlp: MLP, parts: tuple[int, int, int]) -> _Trunk:
        weights = [
            (layer.weight.detach().mT.contiguous(), layer.bias.detach().clone()) for layer in mlp.linear
        ]
        (first, bias), *middle, (w_out, bias_out) = weights
        w_theta, w_x, w_time = first.split(parts)
        return cls(w_theta, w_x, w_time, bias, middle, w_out, bias_out, mlp.layer_norm)

    @property
    def width(self) -> int:
        """Width of the widest hidden layer."""
        return max(len(self.bias), *(len(bias) for _, bias in self.middle), 1)


class NetworkScore(Score):
    """The score -eps / sigma(t) of a trained network, for normalised theta and x."""

    def __init__(self, network: ScoreNetwork, schedule: Schedule) -> None:
        self.network, self.schedule = network, schedule
        self.dim = network.architecture.theta_dim
        self._trunk = _Trunk.of(network.trunk, network.architecture.parts)

    @torch.no_grad()
    def bind(self, x: Observations) -> BoundNetworkScore:
        from_x = self.network.x_embedding(x) @ self._trunk.w_x + self._trunk.bias
        return BoundNetworkScore(self.network, self._trunk, from_x, self.schedule)


class BoundNetworkScore(BoundScore):
    def __init__(
        self, network: ScoreNetwork, trunk: _Trunk, from_x: Float[Tensor, "B n h"], schedule: Schedule
    ) -> None:
        self.n, self.schedule = from_x.shape[1], schedule
        self._network, self._trunk, self._from_x = network, trunk, from_x

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundNetworkScore:
        return BoundNetworkScore(self._network, self._trunk, self._from_x[datasets], self.schedule)

    @torch.no_grad()
    def __call__(self, theta: States, t: float) -> Scores:
        scores = theta.new_empty(*theta.shape[:2], self.n, theta.shape[2])
        w_out, bias_out = self._output(t)
        for bs, ss, hidden in self._hidden(theta, t):
            torch.add(_product(hidden, w_out), bias_out, out=scores[bs, ss].view(len(hidden), -1))
        return scores

    @torch.no_grad()
    def total(self, theta: States, t: float) -> States:
        total = torch.empty_like(theta, memory_format=torch.contiguous_format)
        w_out, bias_out = self._output(t)
        for bs, ss, hidden in self._hidden(theta, t):
            # The last layer is linear: sum first, multiply once.
            summed = hidden.unflatten(0, (-1, self.n)).sum(1)
            torch.add(_product(summed, w_out), self.n * bias_out, out=total[bs, ss].view(len(summed), -1))
        return total

    @torch.no_grad()
    def with_jacobian(self, theta: States, t: float) -> tuple[Scores, Jacobians]:
        B, S, m = theta.shape
        scores, jacobian = theta.new_empty(B, S, self.n, m), theta.new_empty(B, S, self.n, m, m)
        trunk, from_time = self._trunk, self._from_time(theta, t)
        w_out, bias_out = self._output(t)
        buffers = _Buffers(theta, self.n, trunk.width, copies=1 + m)
        for bs, ss in buffers.blocks():
            block = buffers.take(0, bs, ss, len(trunk.bias))
            pairs = block.unflatten(1, (bs.stop - bs.start, ss.stop - ss.start, self.n))
            self._first(theta[bs, ss], bs, from_time, out=pairs[0])
            torch.mul(pairs[0].relu_().sign(), self._slopes(theta[bs, ss])[:, :, :, None], out=pairs[1:])
            self._normalise_all(block)
            for i, (weight, bias) in enumerate(trunk.middle):
                following = buffers.take(i + 1, bs, ss, len(bias))
                torch.mm(block.flatten(0, 1), weight, out=following.flatten(0, 1))
                block = following
                block[1:].mul_(block[0].add_(bias).relu_().sign())
                self._normalise_all(block)
            final = _product(block.flatten(0, 1), w_out).unflatten(0, (1 + m, -1))
            torch.add(final[0], bias_out, out=scores[bs, ss].view(-1, m))
            jacobian[bs, ss].view(-1, m, m).copy_(final[1:].permute(1, 2, 0))
        return scores, jacobian

    def _hidden(self, theta: Tensor, t: float) -> Iterator[tuple[slice, slice, Tensor]]:
        """Activations of the last hidden layer, block by block: [pairs, hidden]."""
        trunk, from_time = self._trunk, self._from_time(theta, t)
        buffers = _Buffers(theta, self.n, trunk.width)
        for bs, ss in buffers.blocks():
            block = buffers.take(0, bs, ss, len(trunk.bias))[0]
            pairs = block.unflatten(0, (bs.stop - bs.start, ss.stop - ss.start, self.n))
            self._first(theta[bs, ss], bs, from_time, out=pairs)
            block = self._activate(block)
            for i, (weight, bias) in enumerate(trunk.middle):
                following = buffers.take(i + 1, bs, ss, len(bias))[0]
                block = self._activate(torch.addmm(bias, block, weight, out=following))
            yield bs, ss, block

    def _first(self, theta: Tensor, bs: slice, from_time: Tensor, out: Tensor) -> None:
        """The first layer for a block of datasets and samples and all their observations."""
        embedded = self._network.theta_embedding(theta)
        from_theta = torch.addmm(from_time, embedded.flatten(0, 1), self._trunk.w_theta)
        torch.add(from_theta.view(*theta.shape[:2], 1, -1), self._from_x[bs, None], out=out)

    def _activate(self, block: Float[Tensor, "rows h"]) -> Float[Tensor, "rows h"]:
        block.relu_()
        if self._trunk.layer_norm:
            block.copy_(F.layer_norm(block, block.shape[-1:], eps=LAYER_NORM_EPS))
        return block

    def _normalise_all(self, block: Float[Tensor, "copies rows h"]) -> None:
        """Layer normalisation of copy 0 and its derivative applied to the others, in place."""
        if not self._trunk.layer_norm:
            return
        # y = (u - mean u) / s has the derivative dy = (du - mean du - y mean(y du)) / s.
        block.sub_(block.mean(-1, keepdim=True))
        value, tangents = block[0], block[1:]
        block.mul_((value.square().mean(-1, keepdim=True) + LAYER_NORM_EPS).rsqrt_())
        tangents.sub_(value * (value * tangents).mean(-1, keepdim=True))

    def _output(self, t: float) -> tuple[Tensor, Tensor]:
        """The last layer, with the factor -1 / sigma(t) that makes a score of the noise."""
        factor = -1 / self.schedule.sigma(t)
        return factor * self._trunk.w_out.mT, factor * self._trunk.bias_out

    def _from_time(self, theta: Tensor, t: float) -> Float[Tensor, "h"]:
        features = time_features(theta.new_tensor(t), self._network.architecture.frequencies)
        return features @ self._trunk.w_time

    def _slopes(self, theta: Float[Tensor, "b s m"]) -> Float[Tensor, "m #b #s h"]:
        """Derivatives of the first layer in theta; without an embedding all are the same."""
        w_theta = self._trunk.w_theta
        if not self._network.architecture.theta_embedding:
            return w_theta[:, None, None]
        columns = []
        for k in range(theta.shape[-1]):
            direction = torch.zeros_like(theta)
            direction[..., k] = 1
            _, column, *_ = torch.func.jvp(self._network.theta_embedding, (theta,), (direction,))
            columns.append(column @ w_theta)
        return torch.stack(columns)


def _product(hidden: Float[Tensor, "rows h"], w_out: Float[Tensor, "m h"]) -> Float[Tensor, "rows m"]:
    # Few columns are slow for a matrix product, few rows are not: four times as fast the other way round.
    return (w_out @ hidden.mT).mT


class _Buffers:
    """Two buffers that take turns, and the blocks of (datasets, samples) that fit into them.

    A block spans all samples or lies within one dataset, so that it is contiguous in any [B, S, ...] result.
    """

    def __init__(self, theta: States, n: int, width: int, copies: int = 1) -> None:
        self.B, self.S, _ = theta.shape
        self.n, self.copies = n, copies
        rows = _ROWS_ON_CPU if theta.device.type == "cpu" else _ROWS_ON_ACCELERATOR
        pairs = max(1, rows // copies)
        most = max(1, min(self.S, pairs // n))
        self.samples = math.ceil(self.S / math.ceil(self.S / most)) if self.S else 1
        fit = pairs // (n * self.samples)
        self.datasets = max(1, min(self.B, fit)) if self.samples >= self.S else 1
        size = self.datasets * self.samples * n * copies * width
        self._memory = theta.new_empty(size), theta.new_empty(size)

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        for b in range(0, self.B, self.datasets):
            for s in range(0, self.S, self.samples):
                yield slice(b, min(b + self.datasets, self.B)), slice(s, min(s + self.samples, self.S))

    def take(self, turn: int, bs: slice, ss: slice, width: int) -> Float[Tensor, "copies rows width"]:
        rows = (bs.stop - bs.start) * (ss.stop - ss.start) * self.n
        memory = self._memory[turn % 2]
        return memory[: rows * self.copies * width].view(self.copies, rows, width)

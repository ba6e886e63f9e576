"""A score network evaluated for every sample and every observation at once.

Tall evaluation needs eps(theta_s, x_j, t) for all pairs (s, j). The first layer of the trunk is linear in its
three parts, so

    W1 [theta_s, x_j, features(t)] + b1 = (Wt theta_s + Wf features(t)) + (Wx x_j + b1):

the second bracket is made once per `bind`, the first once per sample, and a pair costs one addition. All this
and the rest of the trunk runs in blocks of `_ROWS_ON_CPU` pairs whose activations stay in cache, in two buffers that
every block uses again: no [B, S, hidden] tensor is ever made, let alone one of [B, S, n, hidden].

Jacobians in theta go forward through the same blocks: each pair carries its activation and the m columns of
its derivative, [1 + m, rows, hidden], through one matrix product per layer.

With the precision bfloat16 (`tallsbi.scores.precision`) activations are rounded once after the first layer, products
between hidden layers are made in it, and the last layer sees float32 again.
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
from tallsbi.scores.precision import BFLOAT16, FLOAT32, checked, float32_sums
from tallsbi.shapes import Jacobians, Observations, Scores, States

_ROWS_ON_CPU = 600  # on a CPU: two buffers of 600 x 256 floats fill an L2 cache
_ROWS_ON_ACCELERATOR = 2**16  # an accelerator wants large products
_FREE_SHARE = 0.1  # of an accelerator's free memory that three buffers may take


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
    def of(cls, mlp: MLP, parts: tuple[int, int, int], products: torch.dtype | None = None) -> _Trunk:
        """`products`: the type of the weights between hidden layers, where it is not the network's."""
        weights = [
            (layer.weight.detach().mT.contiguous(), layer.bias.detach().clone()) for layer in mlp.linear
        ]
        (first, bias), *middle, (w_out, bias_out) = weights
        middle = [(weight.to(products), shift.to(products)) for weight, shift in middle]
        w_theta, w_x, w_time = first.split(parts)
        return cls(w_theta, w_x, w_time, bias, middle, w_out, bias_out, mlp.layer_norm)

    @property
    def width(self) -> int:
        """Width of the widest hidden layer."""
        return max(len(self.bias), *(len(bias) for _, bias in self.middle), 1)

    @property
    def products(self) -> torch.dtype:
        """The type in which hidden layers are multiplied."""
        return self.middle[0][0].dtype if self.middle else self.bias.dtype


class NetworkScore(Score):
    """The score -eps / sigma(t) of a trained network, for normalised theta and x.

    `precision`: of the hidden products; float32 stands for the network's own type.
    """

    def __init__(self, network: ScoreNetwork, schedule: Schedule, precision: str = FLOAT32) -> None:
        self.network, self.schedule = network, schedule
        self.dim = network.architecture.theta_dim
        weight = network.trunk.linear[0].weight
        reduced = checked(precision, weight.device, weight.dtype) == BFLOAT16
        products = torch.bfloat16 if reduced else None
        self._trunk = _Trunk.of(network.trunk, network.architecture.parts, products)

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
        # Once: to ask a GPU at every step would make it wait.
        self._rows = _rows_at_once(from_x.device, trunk.width)

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
        buffers = _Buffers(theta, self.n, trunk.width, 1 + m, trunk.products, self._rows)
        for bs, ss in buffers.blocks():
            block = buffers.first(bs, ss, len(trunk.bias))
            pairs = block.unflatten(1, (bs.stop - bs.start, ss.stop - ss.start, self.n))
            self._first(theta[bs, ss], bs, from_time, out=pairs[0])
            torch.mul(pairs[0].relu_().sign(), self._slopes(theta[bs, ss])[:, :, :, None], out=pairs[1:])
            self._normalise_all(block)
            block = buffers.rounded(block, bs, ss)
            for i, (weight, bias) in enumerate(trunk.middle):
                following = buffers.take(i + 1, bs, ss, len(bias))
                with float32_sums(block.device):
                    torch.mm(block.flatten(0, 1), weight, out=following.flatten(0, 1))
                block = following
                block[1:].mul_(block[0].add_(bias).relu_().sign())
                self._normalise_all(block)
            final = _product(block.flatten(0, 1).to(w_out), w_out).unflatten(0, (1 + m, -1))
            torch.add(final[0], bias_out, out=scores[bs, ss].view(-1, m))
            jacobian[bs, ss].view(-1, m, m).copy_(final[1:].permute(1, 2, 0))
        return scores, jacobian

    def _hidden(self, theta: Tensor, t: float) -> Iterator[tuple[slice, slice, Tensor]]:
        """Activations of the last hidden layer, block by block: [pairs, hidden]."""
        trunk, from_time = self._trunk, self._from_time(theta, t)
        buffers = _Buffers(theta, self.n, trunk.width, 1, trunk.products, self._rows)
        for bs, ss in buffers.blocks():
            block = buffers.first(bs, ss, len(trunk.bias))[0]
            pairs = block.unflatten(0, (bs.stop - bs.start, ss.stop - ss.start, self.n))
            self._first(theta[bs, ss], bs, from_time, out=pairs)
            block = buffers.rounded(self._activate(block)[None], bs, ss)[0]
            for i, (weight, bias) in enumerate(trunk.middle):
                following = buffers.take(i + 1, bs, ss, len(bias))[0]
                with float32_sums(block.device):
                    torch.addmm(bias, block, weight, out=following)
                last = i + 1 == len(trunk.middle)
                block = self._activate(buffers.restored(following, bs, ss) if last else following)
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
        if block.dtype == torch.bfloat16:
            # Differences of neighbours: in float32, as layer normalisation itself.
            exact = block.float()
            self._normalise_all(exact)
            block.copy_(exact)
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
    Where hidden products have a type of their own, the first layer has a buffer in theta's.
    """

    def __init__(
        self,
        theta: States,
        n: int,
        width: int,
        copies: int = 1,
        products: torch.dtype | None = None,
        rows: int | None = None,
    ) -> None:
        self.B, self.S, _ = theta.shape
        self.n, self.copies = n, copies
        own = products not in (None, theta.dtype)
        pairs = max(1, (rows or _ROWS_ON_CPU) * (2 if own else 1) // copies)
        most = max(1, min(self.S, pairs // n))
        self.samples = math.ceil(self.S / math.ceil(self.S / most)) if self.S else 1
        fit = pairs // (n * self.samples)
        self.datasets = max(1, min(self.B, fit)) if self.samples >= self.S else 1
        size = self.datasets * self.samples * n * copies * width
        self._memory = [theta.new_empty(size, dtype=products) for _ in range(2)]
        self._first = theta.new_empty(size) if own else self._memory[0]

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        for b in range(0, self.B, self.datasets):
            for s in range(0, self.S, self.samples):
                yield slice(b, min(b + self.datasets, self.B)), slice(s, min(s + self.samples, self.S))

    def first(self, bs: slice, ss: slice, width: int) -> Float[Tensor, "copies rows width"]:
        """For the first layer, in theta's type."""
        return self._view(self._first, bs, ss, width)

    def rounded(self, block: Float[Tensor, "copies rows width"], bs: slice, ss: slice) -> Tensor:
        """The first layer's activations in the type of the products."""
        if self._first is self._memory[0]:
            return block
        return self.take(0, bs, ss, block.shape[-1]).copy_(block)

    def restored(self, block: Float[Tensor, "rows width"], bs: slice, ss: slice) -> Tensor:
        """The last hidden layer in theta's type, where the first layer was."""
        if self._first is self._memory[0]:
            return block
        return self.first(bs, ss, block.shape[-1])[0].copy_(block)

    def take(self, turn: int, bs: slice, ss: slice, width: int) -> Float[Tensor, "copies rows width"]:
        return self._view(self._memory[turn % 2], bs, ss, width)

    def _view(self, memory: Tensor, bs: slice, ss: slice, width: int) -> Float[Tensor, "copies rows width"]:
        rows = (bs.stop - bs.start) * (ss.stop - ss.start) * self.n
        return memory[: rows * self.copies * width].view(self.copies, rows, width)


def _rows_at_once(device: torch.device, width: int) -> int | None:
    """Pairs per block: what a small share of an accelerator's free memory holds; None on a processor."""
    if device.type == "cpu":
        return None
    if device.type != "cuda" or not torch.cuda.is_available():
        return _ROWS_ON_ACCELERATOR
    free, _ = torch.cuda.mem_get_info(device)
    return max(_ROWS_ON_CPU, min(_ROWS_ON_ACCELERATOR, int(_FREE_SHARE * free) // (3 * 4 * width)))

"""A score with a controlled error: the exact one plus eps times a random network (section 4.1).

The error is put on the noise predictor, -sigma(t) score, and is bounded by eps in every coordinate:

    score(theta, x, t) = exact(theta, x, t) - (eps / sigma(t)) r(theta, x, t),

r = tanh(W2 relu(W1 [theta, x, t] + b1) + b2) with hidden width 5 m, weights and biases uniform in
+-1/sqrt(fan in), one network per dataset.

The first layer is split into a theta, an x and a t part that are added by broadcasting, and the hidden
layer is evaluated in chunks that stay in cache: no [B, S, n, 5m] tensor is ever made.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.scores.base import BoundScore, Score
from tallsbi.shapes import Jacobians, Observations, Scores, States

_HIDDEN_AT_ONCE = 120_000  # hidden activations evaluated at once: about half of an L2 cache in float32


@dataclass(frozen=True)
class Perturbation:
    """The random networks r of B datasets."""

    w_theta: Float[Tensor, "B m h"]
    w_x: Float[Tensor, "B d h"]
    w_t: Float[Tensor, "B h"]
    bias: Float[Tensor, "B h"]
    w_out: Float[Tensor, "B h m"]
    bias_out: Float[Tensor, "B m"]

    @classmethod
    def random(
        cls, dim: int, generators: list[torch.Generator], dtype: torch.dtype = torch.float32
    ) -> Perturbation:
        """One network per generator, for theta and x of the same dimension."""
        hidden = 5 * dim
        layers = []
        for generator in generators:

            def uniform(*shape: int, fan_in: int, generator: torch.Generator = generator) -> Tensor:
                u = torch.rand(*shape, generator=generator, dtype=torch.float64)
                return ((2 * u - 1) / math.sqrt(fan_in)).to(dtype)

            first = uniform(2 * dim + 1, hidden, fan_in=2 * dim + 1)
            layers.append(
                (
                    first[:dim],
                    first[dim : 2 * dim],
                    first[2 * dim],
                    uniform(hidden, fan_in=2 * dim + 1),
                    uniform(hidden, dim, fan_in=hidden),
                    uniform(dim, fan_in=hidden),
                )
            )
        return cls(*(torch.stack(parts) for parts in zip(*layers, strict=True)))

    def repeat(self, n: int) -> Perturbation:
        return Perturbation(*(part.repeat_interleave(n, 0) for part in vars(self).values()))

    def to(self, device: torch.device | str) -> Perturbation:
        return Perturbation(*(part.to(device) for part in vars(self).values()))


class PerturbedScore(Score):
    """`exact` with the noise predictor off by eps r."""

    def __init__(self, exact: Score, perturbation: Perturbation, eps: float) -> None:
        self.exact, self.perturbation, self.eps = exact, perturbation, eps
        self.dim, self.schedule = exact.dim, exact.schedule

    def bind(self, x: Observations) -> BoundPerturbedScore:
        return BoundPerturbedScore(self.exact.bind(x), self.perturbation, self.eps, x)

    def repeat(self, n: int) -> PerturbedScore:
        return PerturbedScore(self.exact.repeat(n), self.perturbation.repeat(n), self.eps)


class BoundPerturbedScore(BoundScore):
    def __init__(self, exact: BoundScore, net: Perturbation, eps: float, x: Observations) -> None:
        self.exact, self.net, self.eps = exact, net, eps
        self.n, self.schedule = exact.n, exact.schedule
        self._from_x = x @ net.w_x + net.bias[:, None]

    def chosen(self, datasets: Int[Tensor, "V"]) -> BoundPerturbedScore | None:
        exact = self.exact.chosen(datasets)
        if exact is None:
            return None
        again = copy.copy(self)
        again.__dict__.pop("_pair", None)
        again.exact, again._from_x = exact, self._from_x[datasets]
        again.net = Perturbation(*(part[datasets] for part in vars(self.net).values()))
        return again

    @cached_property
    def _pair(self) -> Float[Tensor, "B h mm"]:
        # d r_i / d theta_k = (1 - r_i^2) sum_h w_out[h, i] 1[h active] w_theta[k, h]: the products of the
        # two weights are made once, so that all Jacobians are one matrix product with the active units.
        return torch.einsum("bhi,bkh->bhik", self.net.w_out, self.net.w_theta).flatten(2)

    def _errors(self, theta: Tensor, t: float) -> Iterator[tuple[slice, slice, Tensor, Tensor]]:
        """Hidden activations [b, s * n, h] of a block of datasets and samples, and r there [b, s * n, m]."""
        B, S, _ = theta.shape
        hidden = self._from_x.shape[-1]
        from_theta = torch.baddbmm((t * self.net.w_t)[:, None], theta, self.net.w_theta)
        per_sample = self.n * hidden
        s_step = max(1, min(S, _HIDDEN_AT_ONCE // per_sample))
        b_step = max(1, min(B, _HIDDEN_AT_ONCE // (per_sample * s_step)))
        for b in range(0, B, b_step):
            bs = slice(b, min(b + b_step, B))
            for s in range(0, S, s_step):
                ss = slice(s, min(s + s_step, S))
                block = from_theta[bs, ss, None, :] + self._from_x[bs, None, :, :]
                block = block.relu_().flatten(1, 2)
                r = torch.baddbmm(self.net.bias_out[bs, None], block, self.net.w_out[bs]).tanh_()
                yield bs, ss, block, r

    def __call__(self, theta: States, t: float) -> Scores:
        scores = self.exact(theta, t)
        factor = -self.eps / self.schedule.sigma(t)
        for bs, ss, _, r in self._errors(theta, t):
            scores[bs, ss].add_(r.view_as(scores[bs, ss]), alpha=factor)
        return scores

    def total(self, theta: States, t: float) -> States:
        total = self.exact.total(theta, t)
        factor = -self.eps / self.schedule.sigma(t)
        for bs, ss, _, r in self._errors(theta, t):
            total[bs, ss].add_(r.unflatten(1, (-1, self.n)).sum(2), alpha=factor)
        return total

    def with_jacobian(self, theta: States, t: float) -> tuple[Scores, Jacobians]:
        scores, exact = self.exact.with_jacobian(theta, t)
        jacobian = torch.empty(exact.shape, dtype=exact.dtype, device=exact.device)
        factor = -self.eps / self.schedule.sigma(t)
        for bs, ss, block, r in self._errors(theta, t):
            scores[bs, ss].add_(r.view_as(scores[bs, ss]), alpha=factor)
            inner = torch.bmm(block.sign_(), self._pair[bs]).view_as(jacobian[bs, ss])
            slope = r.square_().mul_(-factor).add_(factor).view_as(scores[bs, ss])
            torch.addcmul(exact[bs, ss], inner, slope[..., None], out=jacobian[bs, ss])
        return scores, jacobian

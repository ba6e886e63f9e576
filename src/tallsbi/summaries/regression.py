"""Regression with a full covariance: y given u is N(mean(u), (R(u)' R(u))^-1), R lower triangular.

Mean and root start at the linear regression of y on u and the covariance of its residuals; a perceptron learns the
rest by maximum likelihood.
"""

from __future__ import annotations

import copy
import math
import time
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, parameters_to_vector

from tallsbi.training.adam import Adam
from tallsbi.training.gradient import flatten

_RATE, _WARM_UP = 8e-3, 0.03  # an eighth leaves narrow posteriors 1.6 times as wide (docs/research.md)
_RETREAT = 0.25  # factor on the rate after the first cycle that made the held-out loss worse
_BATCH = 256
_LARGEST_GRADIENT = 10.0
_LARGEST_LOG_CHANGE = 4.0  # of the diagonal of R from where it starts, so that no row can dominate
_CYCLES = (
    1 / 7,
    2 / 7,
    4 / 7,
    8 / 7,
)  # lengths relative to `epochs`; the learning rate falls to zero in each
_LEAST_IMPROVEMENT = 1e-3  # of the held-out loss per target; a cycle that brings less is the last
_RIDGE = 1e-6
_MOST_FREE_TARGETS = 12  # up to so many, every entry of R depends on u; beyond, its diagonal alone


class ConditionalGaussian(nn.Module):
    """The law of y [N, `targets`] given u [N, `inputs`]; the perceptron has `depth` hidden layers of `width` units."""

    log_diagonal: Tensor

    def __init__(self, inputs: int, targets: int, width: int = 96, depth: int = 3) -> None:
        super().__init__()
        self.inputs, self.targets, self.width, self.depth = inputs, targets, width, depth
        pairs = targets * (targets - 1) // 2
        self.free_entries = pairs if targets <= _MOST_FREE_TARGETS else 0
        sizes = [inputs, *[width] * depth, 2 * targets + self.free_entries]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))
        self.skip = nn.Linear(inputs, targets)
        self.off_diagonal = nn.Parameter(torch.zeros(pairs))
        self.register_buffer("log_diagonal", torch.zeros(targets))

    @classmethod
    def start(
        cls, u: Float[Tensor, "N i"], y: Float[Tensor, "N k"], seed: int, depth: int = 3
    ) -> ConditionalGaussian:
        """At the linear regression of y on u."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = cls(u.shape[1], y.shape[1], depth=depth).to(u.device)
        design = torch.cat([u, torch.ones_like(u[:, :1])], 1).double()
        gram = design.mT @ design + _RIDGE * len(u) * torch.eye(design.shape[1]).to(design)
        slopes = torch.linalg.solve(gram, design.mT @ y.double())
        covariance = torch.atleast_2d(torch.cov((y - design @ slopes).mT))
        covariance = covariance + _RIDGE * torch.eye(len(covariance)).to(covariance)
        # With rows and columns reversed, a Cholesky factor of the precision becomes a lower R with R' R = precision.
        root = torch.linalg.cholesky(torch.linalg.inv(covariance).flip(0, 1)).flip(0, 1).mT
        rows, columns = torch.tril_indices(len(covariance), len(covariance), -1)
        with torch.no_grad():
            for parameter in network.layers[-1].parameters():
                parameter.mul_(0.1)
            network.skip.weight.copy_(slopes[:-1].mT)
            network.skip.bias.copy_(slopes[-1])
            network.log_diagonal.copy_(root.diagonal().log())
            network.off_diagonal.copy_((root / root.diagonal()[:, None])[rows, columns])
        return network

    def forward(self, u: Float[Tensor, "N i"]) -> tuple[Tensor, Tensor, Tensor]:
        """Mean [N, k], R [N, k, k] and the logarithm of its diagonal [N, k]."""
        hidden = u
        for layer in self.layers[:-1]:
            hidden = F.silu(layer(hidden))
        k = self.targets
        shift, log_change, free = self.layers[-1](hidden).split([k, k, self.free_entries], 1)
        log_diagonal = self.log_diagonal + _LARGEST_LOG_CHANGE * torch.tanh(log_change / _LARGEST_LOG_CHANGE)
        off_diagonal = self.off_diagonal + free if self.free_entries else self.off_diagonal.expand(len(u), -1)
        rows, columns = torch.tril_indices(k, k, -1, device=u.device)
        unit = torch.eye(k, dtype=u.dtype, device=u.device).expand(len(u), k, k).clone()
        unit[:, rows, columns] = off_diagonal
        return self.skip(u) + shift, unit * log_diagonal.exp()[..., None], log_diagonal

    def loss(self, u: Float[Tensor, "N i"], y: Float[Tensor, "N k"]) -> Float[Tensor, "N"]:
        """Minus the log density of y, up to a constant."""
        mean, root, log_diagonal = self(u)
        return 0.5 * apply(root, y - mean).square().sum(1) - log_diagonal.sum(1)


def apply(root: Float[Tensor, "N k k"], vectors: Float[Tensor, "N k"]) -> Float[Tensor, "N k"]:
    return (root @ vectors[..., None])[..., 0]


def train(
    u: Float[Tensor, "N i"],
    y: Float[Tensor, "N k"],
    held_u: Float[Tensor, "V i"],
    held_y: Float[Tensor, "V k"],
    epochs: int,
    seed: int,
    seconds: float = math.inf,
    depth: int = 3,
) -> ConditionalGaussian:
    """Adam in cycles, each twice as long as the one before, until one does not improve the held-out loss.

    The weights with the lowest held-out loss are kept. Few rows are learnt in the first cycle, and later ones overfit;
    where noise is small, the last cycle decides. The first cycle that makes the loss worse is taken back, and the next
    ones take smaller steps. After `seconds` no step is taken.
    """
    end = time.monotonic() + seconds
    network = ConditionalGaussian.start(u, y, seed, depth)
    weights = flatten(network)
    generator = torch.Generator().manual_seed(seed)
    batch = min(_BATCH, len(u))
    total = max(50, math.ceil(epochs * len(u) / batch))
    best_weights, lowest, rate = (
        copy.deepcopy(network.state_dict()),
        _mean_loss(network, held_u, held_y),
        _RATE,
    )
    for share in _CYCLES:
        optimiser, steps = Adam(weights, rate), max(1, round(share * total))
        order = torch.empty(0, dtype=torch.int64, device=u.device)
        for step in range(steps):
            if time.monotonic() > end:
                break
            if len(order) < batch:
                order = torch.randperm(len(u), generator=generator).to(u.device)
            rows, order = order[:batch], order[batch:]
            warm_up = min(1.0, (step + 1) / (_WARM_UP * steps))
            optimiser.learning_rate = rate * warm_up * _cosine(step / steps)
            network.zero_grad(set_to_none=True)
            network.loss(u[rows], y[rows]).mean().backward()
            clip_grad_norm_(network.parameters(), _LARGEST_GRADIENT)
            optimiser.step(parameters_to_vector([p.grad for p in network.parameters() if p.grad is not None]))
        loss, previous = _mean_loss(network, held_u, held_y), lowest
        if loss < lowest:
            best_weights, lowest = copy.deepcopy(network.state_dict()), loss
        if time.monotonic() > end:
            break
        if not loss < previous and rate == _RATE:
            network.load_state_dict(best_weights)
            rate *= _RETREAT
        elif not loss < previous - _LEAST_IMPROVEMENT * y.shape[1]:
            break
    network.load_state_dict(best_weights)
    return network.requires_grad_(False)


def _cosine(progress: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * progress))


@torch.no_grad()
def _mean_loss(network: ConditionalGaussian, u: Tensor, y: Tensor) -> float:
    loss = float(network.loss(u, y).double().mean())
    return loss if math.isfinite(loss) else math.inf

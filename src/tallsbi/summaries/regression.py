"""Regression with a full covariance: y given u is N(mean(u), (R(u)' R(u))^-1), R lower triangular.

Mean and root start at the linear regression of y on u and the covariance of its residuals; a perceptron learns the
rest by maximum likelihood (`tallsbi.summaries.training`).
"""

from __future__ import annotations

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

LARGEST_LOG_CHANGE = 4.0  # of the diagonal of R from where it starts, so that no row can dominate
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
        mean, off_diagonal, log_diagonal = self._parts(u)
        k = self.targets
        rows, columns = torch.tril_indices(k, k, -1, device=u.device)
        unit = torch.eye(k, dtype=u.dtype, device=u.device).expand(len(u), k, k).clone()
        unit[:, rows, columns] = off_diagonal
        return mean, unit * log_diagonal.exp()[..., None], log_diagonal

    def standardised(self, u: Float[Tensor, "N i"], y: Float[Tensor, "N k"]) -> tuple[Tensor, Tensor]:
        """R (y - mean) [N, k], without its matrices, and the logarithm of the diagonal of R [N, k]."""
        mean, off_diagonal, log_diagonal = self._parts(u)
        residual = y - mean
        to_row, from_column = below_diagonal(self.targets, u)
        mixed = residual + (off_diagonal * (residual @ from_column)) @ to_row
        return mixed * log_diagonal.exp(), log_diagonal

    def _parts(self, u: Float[Tensor, "N i"]) -> tuple[Tensor, Tensor, Tensor]:
        """Mean [N, k], what is below the unit diagonal of R / diag(R) [N, pairs], and log diag(R) [N, k]."""
        hidden = u
        for layer in self.layers[:-1]:
            hidden = F.silu(layer(hidden))
        k = self.targets
        shift, log_change, free = self.layers[-1](hidden).split([k, k, self.free_entries], 1)
        log_diagonal = self.log_diagonal + LARGEST_LOG_CHANGE * torch.tanh(log_change / LARGEST_LOG_CHANGE)
        off_diagonal = self.off_diagonal + free if self.free_entries else self.off_diagonal.expand(len(u), -1)
        return self.skip(u) + shift, off_diagonal, log_diagonal

    def loss(self, u: Float[Tensor, "N i"], y: Float[Tensor, "N k"]) -> Float[Tensor, "N"]:
        """Minus the log density of y, up to a constant."""
        departure, log_diagonal = self.standardised(u, y)
        return 0.5 * departure.square().sum(1) - log_diagonal.sum(1)


def below_diagonal(k: int, like: Tensor) -> tuple[Float[Tensor, "pairs k"], Float[Tensor, "k pairs"]]:
    """Entry (i, j) of R below the diagonal takes element j of a residual to element i of the product."""
    rows, columns = torch.tril_indices(k, k, -1, device=like.device)
    unit = torch.eye(k, dtype=like.dtype, device=like.device)
    return unit[rows], unit[:, columns]


def apply(root: Float[Tensor, "N k k"], vectors: Float[Tensor, "N k"]) -> Float[Tensor, "N k"]:
    return (root @ vectors[..., None])[..., 0]

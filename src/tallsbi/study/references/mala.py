"""Metropolis-adjusted Langevin, vectorised over datasets and chains.

One proposal theta' = theta + h D grad log p(theta) + sqrt(2 h D) z with a fixed diagonal D, accepted by the
Metropolis-Hastings rule. During warm-up the step h of each dataset is adapted to a target acceptance rate;
afterwards it is frozen, so that the kept draws are those of an ordinary Markov chain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

LogDensity = Callable[[Tensor], tuple[Tensor, Tensor]]
"""theta [B, C, m] -> log density [B, C] and its gradient [B, C, m]."""


@dataclass(frozen=True)
class Chains:
    """Draws after warm-up, and the share of proposals accepted among them."""

    draws: Float[Tensor, "B C draws m"]
    acceptance: Float[Tensor, "B"]


def mala(
    target: LogDensity,
    start: Float[Tensor, "B C m"],
    scale: Float[Tensor, "#B m"],
    *,
    warmup: int,
    draws: int,
    thin: int,
    target_accept: float,
    generator: torch.Generator,
) -> Chains:
    """`draws` states of each chain, `thin` iterations apart; `scale` is the diagonal D."""
    datasets, _, dim = start.shape
    theta = start
    log_p, gradient = target(theta)
    step = torch.full((datasets, 1, 1), dim ** (-1 / 3), dtype=start.dtype)
    metric = scale[:, None, :]
    kept, accepted = [], torch.zeros(datasets, dtype=start.dtype)
    for iteration in range(warmup + draws * thin):
        drift = theta + step * metric * gradient
        z = torch.randn(theta.shape, generator=generator, dtype=theta.dtype)
        proposal = drift + (2 * step * metric).sqrt() * z
        proposal_log_p, proposal_gradient = target(proposal)
        back = theta - proposal - step * metric * proposal_gradient
        forward = -0.5 * z.square().sum(-1)
        backward = -(back.square() / (4 * step * metric)).sum(-1)
        log_ratio = proposal_log_p - log_p + backward - forward
        uniform = torch.rand(log_ratio.shape, generator=generator, dtype=theta.dtype)
        accept = uniform.log() < log_ratio  # False for NaN
        theta = torch.where(accept[..., None], proposal, theta)
        gradient = torch.where(accept[..., None], proposal_gradient, gradient)
        log_p = torch.where(accept, proposal_log_p, log_p)
        rate = accept.to(theta.dtype).mean(1)
        if iteration < warmup:
            # Robbins-Monro on log h, pooled over the chains of a dataset.
            gain = min(0.5, 10.0 / (iteration + 1) ** 0.6)
            step = step * torch.exp(gain * (rate - target_accept))[:, None, None]
        else:
            accepted += rate
            if (iteration - warmup + 1) % thin == 0:
                kept.append(theta)
    return Chains(torch.stack(kept, dim=2), accepted / (draws * thin))

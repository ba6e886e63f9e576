"""The denoising loss, and the inputs it is evaluated on (equations (3) and (8) of the paper).

    loss = mean over rows and coordinates of (eps(theta_t, x, t) - z)^2,   theta_t = sqrt(alpha) theta + sigma z

with z standard normal, t uniform on (0, 1) and sigma^2 = upsilon + floor. The inputs of a whole epoch are
made at once, in the order of the batches, so that a batch is a slice.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.schedule import Schedule
from tallsbi.scores.context import dropped
from tallsbi.scores.network import ScoreNetwork, time_features

_ROWS_WITHOUT_GRADIENT = 1024  # evaluated at once


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs [theta_t, x, time features] and the noise to be predicted from them."""

    inputs: Float[Tensor, "N k"]
    noise: Float[Tensor, "N m"]

    def __len__(self) -> int:
        return len(self.noise)

    def slice(self, start: int, stop: int) -> Rows:
        return Rows(self.inputs[start:stop], self.noise[start:stop])


def diffuse(
    theta: Float[Tensor, "N m"], t: Float[Tensor, "N"], noise: Float[Tensor, "N m"], schedule: Schedule
) -> Float[Tensor, "N m"]:
    """theta_t = sqrt(alpha(t)) theta + sigma(t) noise."""
    return schedule.sqrt_alpha(t)[:, None] * theta + schedule.sigma(t)[:, None] * noise


def rows_at(
    theta: Float[Tensor, "N m"],
    x: Float[Tensor, "N d"],
    t: Float[Tensor, "N"],
    noise: Float[Tensor, "N m"],
    schedule: Schedule,
    frequencies: int,
) -> Rows:
    features = time_features(t, frequencies)
    return Rows(torch.cat([diffuse(theta, t, noise, schedule), x, features], dim=1), noise)


def epoch_rows(
    theta: Float[Tensor, "N m"],
    x: Float[Tensor, "N d"],
    schedule: Schedule,
    frequencies: int,
    generator: torch.Generator,
    drop: float = 0.0,
) -> Rows:
    """All rows in a random order, each with its own time and noise; a share `drop` has no context."""
    order = torch.randperm(len(theta), generator=generator).to(theta.device)
    t = torch.rand(len(theta), generator=generator, dtype=theta.dtype).to(theta.device)
    noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype).to(theta.device)
    return rows_at(theta[order], _context(x[order], drop, generator), t, noise, schedule, frequencies)


def validation_rows(
    theta: Float[Tensor, "V m"],
    x: Float[Tensor, "V d"],
    schedule: Schedule,
    frequencies: int,
    draws: int,
    generator: torch.Generator,
    drop: float = 0.0,
) -> Rows:
    """Every row `draws` times, at times spread evenly over (0, 1): made once, the same for every epoch.

    One random time per row and epoch would make the validation loss so noisy that its minimum is a lucky
    draw and not a good network.
    """
    total = draws * len(theta)
    cells = torch.randperm(total, generator=generator) + torch.rand(
        total, generator=generator, dtype=torch.float64
    )
    t = (cells / total).to(theta)
    noise = torch.randn(total, theta.shape[1], generator=generator, dtype=theta.dtype).to(theta.device)
    context = _context(x.repeat(draws, 1), drop, generator)
    return rows_at(theta.repeat(draws, 1), context, t, noise, schedule, frequencies)


def _context(x: Float[Tensor, "N d"], drop: float, generator: torch.Generator) -> Float[Tensor, "N e"]:
    """x itself where no context is ever dropped."""
    if drop == 0:
        return x
    chosen = torch.rand(len(x), generator=generator).to(x.device) < drop
    return dropped(x, chosen)


@torch.no_grad()
def row_losses(network: ScoreNetwork, rows: Rows, draws: int = 1) -> Float[Tensor, "V"]:
    """Loss of each row, averaged over coordinates and its draws, in float64."""
    losses = []
    for start in range(0, len(rows), _ROWS_WITHOUT_GRADIENT):
        part = rows.slice(start, start + _ROWS_WITHOUT_GRADIENT)
        predicted = network.with_features(*network.architecture.split(part.inputs))
        losses.append((predicted - part.noise).double().square().mean(1))
    return torch.cat(losses).unflatten(0, (draws, -1)).mean(0)

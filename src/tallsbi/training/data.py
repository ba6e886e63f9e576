"""From simulations to normalised training and validation rows.

The N_train rows are normalised together and then split at random, 80 to 20 by default. The split depends on
the seed and on N_train only: trainings that differ in learning rate or batch size hold out the same rows.
"""

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.scores.normaliser import Normaliser


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Normalised rows, those to train on and those held out."""

    theta: Float[Tensor, "N m"]
    x: Float[Tensor, "N d"]
    held_out_theta: Float[Tensor, "V m"]
    held_out_x: Float[Tensor, "V d"]
    normaliser: Normaliser
    digest: str
    weights: Float[Tensor, "N"] | None = None
    """How often each row is drawn, relative to the others; None: once in every epoch."""


def prepare(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R d"],
    validation_share: float,
    generator: torch.Generator,
    *,
    log_x: bool = False,
    weights: Float[Tensor, "R"] | None = None,
) -> TrainingData:
    """Normalises and splits latent parameters (`prior.to_latent`) and raw observations."""
    return split(latent, x, Normaliser.fit(latent, x, log_x=log_x), validation_share, generator, weights)


def split(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R d"],
    normaliser: Normaliser,
    validation_share: float,
    generator: torch.Generator,
    weights: Float[Tensor, "R"] | None = None,
) -> TrainingData:
    """Standardised rows in a random order, the first of them held out; at least one, and not all."""
    rows, held_out = len(latent), round(validation_share * len(latent))
    if not 0 < held_out < rows:
        raise ValueError(
            f"validation_share = {validation_share} of {rows} rows holds out {held_out}: "
            "at least one row must be held out and one trained on; give more rows."
        )
    order = torch.randperm(len(latent), generator=generator).to(latent.device)
    theta, observations = normaliser.theta(latent)[order], normaliser.x(x).to(latent.dtype)[order]
    weights = None if weights is None else weights[order]
    test = torch.arange(held_out) if weights is None else drawn(weights[:held_out], generator)
    return TrainingData(
        theta=theta[held_out:],
        x=observations[held_out:],
        held_out_theta=theta[test],
        held_out_x=observations[test],
        normaliser=normaliser,
        digest=_digest(theta, observations, *(() if weights is None else (weights,))),
        weights=None if weights is None else weights[held_out:],
    )


def drawn(weights: Float[Tensor, "N"], generator: torch.Generator) -> Int[Tensor, "N"]:
    """As many rows as there are, in a random order, each as often as its weight says, rounded up or down at random."""
    places = (torch.arange(len(weights)) + torch.rand(1, generator=generator)) / len(weights)
    share = weights.cpu().double().cumsum(0)
    rows = torch.searchsorted(share / share[-1], places.double()).clamp_max(len(weights) - 1)
    return rows[torch.randperm(len(weights), generator=generator)].to(weights.device)


def _digest(*tensors: Tensor) -> str:
    """A checksum of the data: a checkpoint is used only with the data it was made with."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()

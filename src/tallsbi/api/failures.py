"""Warnings about draws that are not finite or not plausible, with advice."""

import warnings

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tallsbi.algorithms import base_name
from tallsbi.api.inputs import METHOD
from tallsbi.priors.base import Prior
from tallsbi.shapes import States

_PLAUSIBLE_DEVIATIONS = 8.0  # standard deviations from the mean, for a prior without bounds


def advice(method: str) -> str:
    """What to do about the draws that this method lost."""
    if base_name(method) not in (METHOD, "GAUSS_PD"):
        return f"use {METHOD}, a `-clip` variant, or more steps"
    return "train longer or on more simulations, and look at observations far from them"


def warn(method: str, theta: States, prior: Prior, lost_definiteness: Int[Tensor, "B"]) -> None:
    """Says how many draws are lost or implausible, and where the composition was not positive definite."""
    kinds = {
        "not finite": ~theta.isfinite().all(-1),
        f"outside the prior's support, or beyond {_PLAUSIBLE_DEVIATIONS:g} of its standard deviations": implausible(
            prior, theta
        ),
    }
    for what, draws in kinds.items():
        if bool(draws.any()):
            datasets = draws.any(-1)
            warnings.warn(
                f"{method}: {int(draws.sum())} of {draws.numel()} draws are {what}, in {int(datasets.sum())} of "
                f"{len(datasets)} datasets (the first is dataset {int(datasets.nonzero()[0])}); {advice(method)}.",
                stacklevel=4,
            )
    lost = lost_definiteness > 0
    if bool(lost.any()):
        warnings.warn(
            f"{method}: the precision of the composition was not positive definite in {int(lost.sum())} of {len(lost)} "
            f"datasets (the first is dataset {int(lost.nonzero()[0])}); draws may be wrong: {advice(method)}.",
            stacklevel=4,
        )


def implausible(prior: Prior, theta: States) -> Bool[Tensor, "B S"]:
    """Finite draws outside the prior's support, or far beyond the bulk of it where that has no bounds."""
    bounds, finite = prior.reach(_PLAUSIBLE_DEVIATIONS), theta.isfinite().all(-1)
    if bounds is None:
        return torch.zeros_like(finite)
    low, high = (bound.to(theta) for bound in bounds)
    latent = prior.to_latent(theta)
    return finite & ((latent < low) | (latent > high)).any(-1)

"""The exact tall posterior of a Gaussian mean: N(mean_n, V_n), V_n = (C^-1 + n noise^-1)^-1."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.gaussian import Gaussian


def tall_posterior(
    prior: Gaussian, noise_cov: Float[Tensor, "m m"], x: Float[Tensor, "B n m"]
) -> tuple[Float[Tensor, "B m"], Float[Tensor, "B m m"]]:
    """Mean and covariance given all n observations of each dataset."""
    prior_precision = torch.linalg.inv(prior.cov)
    noise_precision = torch.linalg.inv(noise_cov)
    cov = torch.linalg.inv(prior_precision + x.shape[1] * noise_precision).expand(x.shape[0], -1, -1)
    right = x.sum(1) @ noise_precision + (prior_precision @ prior.mean[..., None])[..., 0]
    return (cov @ right[..., None])[..., 0], cov

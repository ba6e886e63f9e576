"""Reference posteriors of the toy problems.

The Gaussian problems have exact draws. The tall posterior of the mixture is a mixture of 2^n Gaussians, one per
assignment of the observations to the two components of the simulator. Up to `MAX_ENUMERATED` observations, where it
can have several separated modes, these are enumerated and sampled exactly; beyond, MALA samples from dispersed starts,
with a certificate.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.priors.gaussian import tall_posterior
from tallsbi.random import torch_generator
from tallsbi.study.references.certificate import Certificate, chain_checks, pack
from tallsbi.study.references.mala import mala
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks.toy import Toy

if TYPE_CHECKING:
    import xarray as xr

MAX_ENUMERATED = 10
_THIN = 5
log = logging.getLogger(__name__)


def reference_size(samples: int) -> int:
    """Reference draws per posterior: enough for disjoint subsets to compare with each other."""
    return 5 * samples


def reference_draws(
    toy: Toy, n_obs: Sequence[int], count: int, chains: ChainSettings, seed: int
) -> xr.Dataset:
    """`count` reference draws for every n and seed, with a certificate each; `chains` are those of MALA."""
    import xarray as xr

    datasets, _, dim = toy.x.shape
    draws, certificates = [], []
    for n in n_obs:
        generator = torch_generator(seed, "toy", toy.name, dim, n, "reference")
        x = toy.x[:, :n]
        if toy.noise_components is None:
            theta, per_seed = _gaussian(toy, x, count, generator)
        elif n <= MAX_ENUMERATED:
            theta = enumerate_mixture(x, toy.noise_components, count, generator)
            per_seed = [Certificate("enumeration")] * datasets
        else:
            theta, per_seed = certified_mala(x, toy.noise_components, count, chains, generator)
        draws.append(theta.numpy())
        certificates.append(per_seed)
    return xr.Dataset(
        {
            "theta": (("n", "seed", "sample", "parameter"), np.stack(draws)),
            **pack(certificates, ("n", "seed")),
        },
        coords={"n": list(n_obs), "seed": np.arange(datasets)},
        attrs={"problem": toy.name, "m": dim},
    )


def _gaussian(
    toy: Toy, x: Tensor, count: int, generator: torch.Generator
) -> tuple[Float[Tensor, "B S m"], list[Certificate]]:
    mean, cov = tall_posterior(toy.prior, toy.noise_cov, x)
    z = torch.randn(len(x), count, x.shape[-1], generator=generator, dtype=x.dtype)
    theta = mean[:, None] + z @ torch.linalg.cholesky(cov).mT
    return theta, [Certificate("closed form")] * len(x)


def mixture_log_density(x: Float[Tensor, "B n m"], noise: Float[Tensor, "2 m"]):
    """Unnormalised log density and gradient of the tall posterior under prior N(0, I)."""
    precision = 1 / noise
    pull = (x[:, None] * precision[:, None]).flatten(1, 2)  # [B, 2 n, m]
    constant = 0.5 * (precision.log().sum(-1)[:, None] - (x.square() @ precision.mT).mT)[:, None]

    def target(theta: Tensor) -> tuple[Tensor, Tensor]:
        # The quadratic forms are expanded into matrix products: nothing of size [B, C, 2, n, m] is made.
        cross = (theta @ pull.mT).unflatten(-1, (2, -1))
        square = 0.5 * theta.square() @ precision.mT
        log_component = cross + constant - square[..., None]
        log_p = torch.logsumexp(log_component, 2).sum(-1) - 0.5 * theta.square().sum(-1)
        responsibility = torch.softmax(log_component, 2)
        pulled = responsibility.flatten(2) @ pull
        return log_p, pulled - theta * (1 + responsibility.sum(-1) @ precision)

    return target


def enumerate_mixture(
    x: Float[Tensor, "B n m"], noise: Float[Tensor, "2 m"], count: int, generator: torch.Generator
) -> Float[Tensor, "B S m"]:
    """Independent draws of the tall posterior through its 2^n Gaussian components."""
    n = x.shape[1]
    assignment = (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1
    precision = (1 / noise)[assignment]  # [2^n, n, m]
    cov = 1 / (1 + precision.sum(1))
    right = torch.einsum("anm,bnm->bam", precision, x)
    mean = cov * right
    # log of the integral over theta of prior times likelihood, per assignment; equal weights 1/2 drop out.
    log_weight = 0.5 * (
        precision.log().sum((1, 2))
        + cov.log().sum(1)
        - torch.einsum("anm,bnm->ba", precision, x.square())
        + (mean * right).sum(-1)
    )
    chosen = torch.multinomial(torch.softmax(log_weight, -1), count, replacement=True, generator=generator)
    z = torch.randn(len(x), count, x.shape[-1], generator=generator, dtype=x.dtype)
    return torch.take_along_dim(mean, chosen[..., None], 1) + cov.sqrt()[chosen] * z


def certified_mala(
    x: Float[Tensor, "B n m"],
    noise: Float[Tensor, "2 m"],
    count: int,
    settings: ChainSettings,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "B S m"], list[Certificate]]:
    """MALA draws; the chains are made longer until every dataset passes, or the retries are used up."""
    B, n, m = x.shape
    spread = noise.mean(0) / n
    centre = x.median(1, keepdim=True).values
    for attempt in range(settings.retries + 1):
        factor = 2**attempt
        z = torch.randn(B, settings.chains, m, generator=generator, dtype=x.dtype)
        run = mala(
            mixture_log_density(x, noise),
            centre + 2 * spread.sqrt() * z,
            noise.min(0).values[None] * 2 / n,
            warmup=settings.warmup * factor,
            draws=settings.draws * factor,
            thin=_THIN,
            target_accept=settings.target_accept,
            generator=generator,
        )
        iterations = (settings.warmup + settings.draws * _THIN) * factor
        certificates = [
            Certificate(
                "MALA",
                chain_checks(
                    run.draws[b].numpy(),
                    max_rhat=settings.max_rhat,
                    min_bulk=settings.min_ess,
                    min_tail=settings.min_ess,
                ),
                {
                    "acceptance": float(run.acceptance[b]),
                    "chains": settings.chains,
                    "iterations": iterations,
                    "attempts": attempt + 1,
                },
            )
            for b in range(B)
        ]
        if all(certificate.passed for certificate in certificates):
            break
        log.warning("MALA at n = %d: not certified after %d iterations", n, iterations)
    return _spread_out(run.draws, count), certificates


def _spread_out(draws: Float[Tensor, "B C draws m"], count: int) -> Float[Tensor, "B S m"]:
    """`count` draws, evenly spaced along the chains."""
    flat = draws.transpose(1, 2).flatten(1, 2)  # all chains at one time, then all at the next
    if flat.shape[1] < count:
        raise ValueError(
            f"{count} reference draws are wanted, the chains hold {flat.shape[1]}: raise toy.mala.chains or "
            "toy.mala.draws."
        )
    stride = flat.shape[1] / count
    index = (torch.arange(count) * stride + stride / 2).floor().long()
    return flat[:, index]

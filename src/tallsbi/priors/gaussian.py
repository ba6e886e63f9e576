"""The Gaussian prior, N(mean, cov), in closed form (appendix D.1 of the paper).

Mean and covariance may carry a leading batch axis, one prior per dataset: the toy study draws a new prior
for every seed. The diffused prior is N(sqrt(alpha) mean, alpha cov + sigma^2 I), and the backward kernel
has the constant precision cov^-1 + (alpha / sigma^2) I.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.priors.base import Bounds, Prior, StandardMap, described
from tallsbi.schedule import Schedule
from tallsbi.shapes import Precisions, States


class Gaussian(Prior):
    """N(mean, cov), one for all datasets (mean [m], cov [m, m]) or one each ([B, m], [B, m, m])."""

    constant_precision = True

    def __init__(self, mean: Float[Tensor, "*B m"], cov: Float[Tensor, "*B m m"]) -> None:
        mean = mean if mean.ndim == 2 else mean[None]
        cov = cov if cov.ndim == 3 else cov[None]
        if cov.shape[-2:] != (mean.shape[-1],) * 2 or cov.shape[0] != mean.shape[0]:
            raise ValueError(
                f"Gaussian prior: mean has shape {tuple(mean.shape)}, covariance {tuple(cov.shape)}; "
                "expected [m] and [m, m], or [B, m] and [B, m, m]."
            )
        self.mean, self.cov = mean, 0.5 * (cov + cov.mT)
        factor, info = torch.linalg.cholesky_ex(self.cov)
        # Priors are made on the CPU and checked there: a copy on a GPU need not wait for it.
        if info.device.type == "cpu" and bool((info != 0).any()):
            raise ValueError("Gaussian prior: the covariance is not positive definite.")
        self._factor = factor
        self._precision = torch.cholesky_inverse(factor)
        # One eigenbasis serves every t: (alpha cov + sigma^2 I)^-1 = V diag(1 / (alpha w + sigma^2)) V'.
        self._eigenvalues, self._eigenvectors = torch.linalg.eigh(self.cov)
        self.dim = mean.shape[-1]

    @classmethod
    def standard(cls, dim: int, dtype: torch.dtype = torch.float32) -> Gaussian:
        return cls(torch.zeros(dim, dtype=dtype), torch.eye(dim, dtype=dtype))

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        self._require_single("sample")
        z = torch.randn(count, self.dim, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.mean[0] + z @ self._factor[0].mT

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        self._require_single("log_prob")
        factor = self._factor[0]
        centred = (theta - self.mean[0]).reshape(-1, self.dim)
        white = torch.linalg.solve_triangular(factor, centred.mT, upper=False).mT
        log_det = factor.diagonal().log().sum()
        flat = -0.5 * (white.square().sum(-1) + self.dim * math.log(2 * math.pi)) - log_det
        return flat.reshape(theta.shape[:-1])

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        scaled = self._eigenvalues * schedule.alpha(t) + schedule.sigma2(t)
        precision = (self._eigenvectors / scaled[:, None, :]) @ self._eigenvectors.mT
        score = (schedule.sqrt_alpha(t) * self.mean[:, None, :] - theta) @ precision
        return score, self._precision[:, None]

    def covariance(self) -> Float[Tensor, "#B m m"]:
        return self.cov.double()

    def latent_mean(self) -> Float[Tensor, "#B m"]:
        return self.mean.double()

    def reach(self, deviations: float) -> Bounds:
        away = deviations * self.cov.diagonal(dim1=-2, dim2=-1).sqrt()
        return (self.mean - away)[:, None], (self.mean + away)[:, None]

    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Gaussian:
        return Gaussian((self.mean - mean) / std, self.cov / (std[:, None] * std[None, :]))

    def repeat(self, n: int) -> Gaussian:
        if self.mean.shape[0] == 1:
            return self
        return Gaussian(self.mean.repeat_interleave(n, 0), self.cov.repeat_interleave(n, 0))

    def chosen(self, datasets: Int[Tensor, "V"]) -> Gaussian:
        if self.mean.shape[0] == 1:
            return self
        again = copy.copy(self)
        for name in ("mean", "cov", "_factor", "_precision", "_eigenvalues", "_eigenvectors"):
            setattr(again, name, getattr(self, name)[datasets])
        return again

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Gaussian:
        return Gaussian(self.mean.to(dtype=dtype, device=device), self.cov.to(dtype=dtype, device=device))

    def standard_map(self) -> StandardMap:
        self._require_single("standard_map")
        return StandardMap(self.latent_mean()[0].numpy(), torch.linalg.cholesky(self.covariance()[0]).numpy())

    def _coordinate_laws(self) -> list[str] | None:
        if self.mean.shape[0] != 1:
            return None
        deviations = self.cov[0].diagonal().sqrt()
        pairs = zip(self.mean[0].tolist(), deviations.tolist(), strict=True)
        return [f"Normal({mean:.4g}, {deviation:.4g})" for mean, deviation in pairs]

    def to_json(self) -> dict[str, Any]:
        self._require_single("to_json")
        return described("Gaussian", mean=self.mean[0], cov=self.cov[0])

    def _require_single(self, what: str) -> None:
        if self.mean.shape[0] != 1:
            raise ValueError(
                f"Gaussian prior: `{what}` needs one prior, this one is a batch of {self.mean.shape[0]}."
            )


class LatentGaussian(Prior):
    """A prior that is the Gaussian `latent` after a transform of the parameter, which a subclass gives."""

    constant_precision = True
    transformed = True
    latent: Gaussian

    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        return self.latent.score_and_excess(theta, t, schedule)

    def covariance(self) -> Float[Tensor, "#B m m"]:
        return self.latent.covariance()

    def latent_mean(self) -> Float[Tensor, "#B m"]:
        return self.latent.latent_mean()

    def reach(self, deviations: float) -> Bounds:
        return self.latent.reach(deviations)

    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Gaussian:
        return self.latent.normalised(mean, std)

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        return self.to_parameter(self.latent.sample(count, generator))


def tall_posterior(
    prior: Gaussian, noise_cov: Float[Tensor, "m m"], x: Float[Tensor, "B n m"]
) -> tuple[Float[Tensor, "B m"], Float[Tensor, "B m m"]]:
    """Mean and covariance given n observations x ~ N(theta, noise) of each dataset: V_n = (C^-1 + n noise^-1)^-1."""
    prior_precision = torch.linalg.inv(prior.cov)
    noise_precision = torch.linalg.inv(noise_cov)
    cov = torch.linalg.inv(prior_precision + x.shape[1] * noise_precision).expand(x.shape[0], -1, -1)
    right = x.sum(1) @ noise_precision + (prior_precision @ prior.mean[..., None])[..., 0]
    return (cov @ right[..., None])[..., 0], cov

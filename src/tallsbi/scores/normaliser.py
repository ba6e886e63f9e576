"""Standardisation of parameters and observations: the space the network and the diffusion live in.

theta is standardised in the prior's latent space (log theta for a log-normal prior), x optionally after a
logarithm. Mean and standard deviation are those of all N_train rows. A column of x that never varies (a
count that is zero in every simulation) carries no information and no scale: its std is kept as 0 and the
column becomes 0 for every x, also for an x that does vary in it, since the network has never seen that
input and its weights for it are still the random ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Normaliser:
    """Means and standard deviations, in float64; `log_x` says whether x is standardised in log space."""

    theta_mean: Float[Tensor, "m"]
    theta_std: Float[Tensor, "m"]
    x_mean: Float[Tensor, "d"]
    x_std: Float[Tensor, "d"]
    log_x: bool = False

    @classmethod
    def fit(cls, theta: Float[Tensor, "N m"], x: Float[Tensor, "N d"], *, log_x: bool = False) -> Normaliser:
        """From latent parameters and raw observations."""
        theta_mean, theta_std = _moments(theta, "theta")
        if bool((theta_std == 0).any()):
            raise ValueError(
                f"theta: column {int((theta_std == 0).nonzero()[0])} is constant over all {len(theta)} rows; "
                "a parameter that never varies cannot be inferred: drop it or simulate from the prior."
            )
        x_mean, x_std = _moments(log_of(x) if log_x else x, "log x" if log_x else "x")
        return cls(theta_mean, theta_std, x_mean, x_std, log_x)

    def theta(self, latent: Float[Tensor, "*b m"]) -> Float[Tensor, "*b m"]:
        """Latent parameters, standardised."""
        return ((latent.double() - self.theta_mean) / self.theta_std).to(latent.dtype)

    def latent(self, theta: Float[Tensor, "*b m"]) -> Float[Tensor, "*b m"]:
        """The inverse of `theta`."""
        return (theta.double() * self.theta_std + self.theta_mean).to(theta.dtype)

    def x(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        """Raw observations, standardised."""
        values = (log_of(x) if self.log_x else x).double()
        varies = self.x_std > 0
        standard = (values - self.x_mean) / torch.where(varies, self.x_std, 1.0)
        return torch.where(varies, standard, 0.0).to(x.dtype)

    def to_json(self) -> dict[str, Any]:
        return {
            name: value if isinstance(value, bool) else value.tolist() for name, value in vars(self).items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Normaliser:
        tensors = {
            name: torch.tensor(values[name], dtype=torch.float64)
            for name in ("theta_mean", "theta_std", "x_mean", "x_std")
        }
        return cls(**tensors, log_x=bool(values["log_x"]))


def _moments(rows: Float[Tensor, "N k"], what: str) -> tuple[Float[Tensor, "k"], Float[Tensor, "k"]]:
    finite = rows.isfinite().all(0)
    if len(rows) < 2 or not bool(finite.all()):
        problem = (
            f"has {len(rows)} rows"
            if len(rows) < 2
            else f"is not finite in column {int((~finite).nonzero()[0])}"
        )
        raise ValueError(f"{what} {problem}: at least two finite rows are needed to standardise it.")
    rows = rows.double()
    # Rounding gives a constant column a tiny std instead of none, and the column would become noise.
    constant = rows.amin(0) == rows.amax(0)
    return torch.where(constant, rows[0], rows.mean(0)), torch.where(constant, 0.0, rows.std(0))


def log_of(x: Tensor) -> Tensor:
    """The logarithm, refused where there is none."""
    if not bool((x > 0).all()):
        raise ValueError(
            f"log_x = True, but an observation has the value {float(x.min())}: only positive observations "
            "have a logarithm; set log_x to False."
        )
    return x.log()

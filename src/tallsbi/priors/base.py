"""What a prior must offer to the compositions.

A prior knows its diffused score and the precision of its backward kernel q(theta_0 | theta_t), both in the
space in which the diffusion runs. `to_latent` and `to_parameter` map between that space and the
parameter's own (they differ for the log-normal prior only), and `normalised` gives the prior of
(latent - mean) / std, which is what a network trained on standardised parameters sees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.schedule import Schedule


class Prior(ABC):
    """A prior over theta, batched over datasets where its parameters are."""

    dim: int

    is_gaussian: bool = False
    """True where the backward kernel is Gaussian with a covariance that does not depend on theta_t."""

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        """Independent draws in the parameter's own space."""

    @abstractmethod
    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        """Log density in the parameter's own space."""

    @abstractmethod
    def score_and_excess(
        self, theta: Float[Tensor, "B S m"], t: float, schedule: Schedule
    ) -> tuple[Float[Tensor, "B S m"], Float[Tensor, "#B #S m m"]]:
        """Diffused score, and excess precision of the backward kernel, in latent space.

        The backward kernel q(theta_0 | theta_t) has precision (alpha / sigma^2) I + excess: the first term
        is the noising kernel's, the excess is the prior's own. Kept apart, because the first cancels
        exactly when n kernels are composed, and adding it here would round the excess away near t = 0.
        The excess broadcasts over B and S.
        """

    def diffused_score(
        self, theta: Float[Tensor, "B S m"], t: float, schedule: Schedule
    ) -> Float[Tensor, "B S m"]:
        """Gradient of the log density of theta_t, in latent space."""
        return self.score_and_excess(theta, t, schedule)[0]

    def backward_precision(
        self, theta: Float[Tensor, "B S m"], t: float, schedule: Schedule
    ) -> Float[Tensor, "#B #S m m"]:
        """Inverse covariance of q(theta_0 | theta_t), in latent space; broadcasts over B and S."""
        excess = self.score_and_excess(theta, t, schedule)[1]
        eye = torch.eye(self.dim, dtype=excess.dtype, device=excess.device)
        return excess + eye * (schedule.alpha(t) / schedule.sigma2(t))

    @abstractmethod
    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Prior:
        """The prior of (latent - mean) / std."""

    @abstractmethod
    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Prior:
        """The same prior with its tensors converted."""

    def support(self) -> tuple[Float[Tensor, "m"], Float[Tensor, "m"]] | None:
        """Lower and upper bounds in latent space, None where the support is the whole space."""
        return None

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return theta

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return latent

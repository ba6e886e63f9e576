"""What a prior must offer: `DiffusedPrior` to a composition, `Prior` to a simulator as well.

The diffusion runs in a latent space: log theta for a log-normal prior, theta itself for a Gaussian or a uniform
one. There a `DiffusedPrior` knows its diffused score and the precision of its backward kernel q(theta_0 | theta_t),
equation (11) of the paper. A `Prior` can also be sampled and evaluated in the parameter's own space, and maps
between the two: `to_latent`, `to_parameter`, and `normalised`, the prior of (latent - mean) / std, which is what a
network trained on standardised parameters sees.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tallsbi.schedule import Schedule
from tallsbi.shapes import Precisions, States

_MOMENT_DRAWS = 100_000
_SHOWN_COORDINATES = 8
Bounds = tuple[Float[Tensor, "*#B m"], Float[Tensor, "*#B m"]]


class UnsupportedPrior(ValueError):
    """A prior that cannot be used here."""


class DiffusedPrior(ABC):
    """The prior of theta as compositions and samplers see it, in latent space; batched where its parameters are."""

    dim: int

    constant_precision: bool = False
    """True where the precision of the backward kernel is the same for every theta_t."""

    @abstractmethod
    def score_and_excess(self, theta: States, t: float, schedule: Schedule) -> tuple[States, Precisions]:
        """Diffused score, and excess precision of the backward kernel.

        The backward kernel q(theta_0 | theta_t) has precision (alpha / sigma^2) I + excess: the first term
        is the noising kernel's, the excess is the prior's own. Kept apart, because the first cancels
        exactly when n kernels are composed, and adding it here would round the excess away near t = 0.
        The excess broadcasts over B and S.
        """

    @abstractmethod
    def covariance(self) -> Float[Tensor, "#B m m"]:
        """Covariance of theta_0, in float64."""

    def diffused_score(self, theta: States, t: float, schedule: Schedule) -> States:
        """Gradient of the log density of theta_t."""
        return self.score_and_excess(theta, t, schedule)[0]

    def backward_precision(self, theta: States, t: float, schedule: Schedule) -> Precisions:
        """Inverse covariance of q(theta_0 | theta_t); broadcasts over B and S."""
        excess = self.score_and_excess(theta, t, schedule)[1]
        eye = torch.eye(self.dim, dtype=excess.dtype, device=excess.device)
        return excess + eye * (schedule.alpha(t) / schedule.sigma2(t))

    def support(self) -> tuple[Float[Tensor, "m"], Float[Tensor, "m"]] | None:
        """Lower and upper bounds, None where the support is the whole space."""
        return None

    def reach(self, deviations: float) -> Bounds | None:
        """Bounds of what is plausible: the support or, where that is the whole space, so many standard deviations
        around the mean. None for a prior that knows neither."""
        return self.support()

    def repeat(self, n: int) -> DiffusedPrior:
        """Every dataset's prior n times over, in the order of `repeat_interleave`; itself where all share one."""
        return self

    def chosen(self, datasets: Int[Tensor, "V"]) -> DiffusedPrior | None:
        """The prior of these datasets, perhaps repeated; itself where all share one, None where it cannot be split."""
        one_for_all = type(self).repeat is DiffusedPrior.repeat
        return self if one_for_all else None


@dataclass(frozen=True)
class StandardMap:
    """theta = outer(offset + scale inner(z)), which takes z ~ N(0, I) to the prior.

    As data, so that any array library can compute it. A scale [m] multiplies coordinate by coordinate.
    """

    offset: Float[np.ndarray, "m"]
    scale: Float[np.ndarray, "m *k"]
    inner: Literal["identity", "ndtr"] = "identity"
    outer: Literal["identity", "exp"] = "identity"


class Prior(DiffusedPrior):
    """A prior over theta that can be sampled and evaluated."""

    transformed: bool = False
    """True where the latent space is not the parameter's own."""

    names: tuple[str, ...] | None = None
    """Names of the coordinates, if the user gave them."""

    def __repr__(self) -> str:
        laws, covariance = self._coordinate_laws(), self.covariance()[0]
        coordinates = self.coordinate_names
        if laws is not None:
            coordinates = [f"{name} ~ {law}" for name, law in zip(coordinates, laws, strict=True)]
        correlated = bool((covariance != torch.diag(covariance.diagonal())).any())
        count = f"{self.dim} {'correlated ' if correlated else ''}parameter{'' if self.dim == 1 else 's'}"
        return f"{type(self).__name__} prior of {count}: {first_few(coordinates)}"

    def _coordinate_laws(self) -> list[str] | None:
        """The distribution of each coordinate by its name and numbers, None where there is no short form."""
        return None

    @property
    def coordinate_names(self) -> list[str]:
        """The names of the coordinates, or theta_0, theta_1, ... where the user gave none."""
        return list(self.names or [f"theta_{i}" for i in range(self.dim)])

    def named(self, names: Sequence[str]) -> Prior:
        """The same prior with names for its coordinates."""
        if (
            len(names) != self.dim
            or len(set(names)) != len(names)
            or not all(isinstance(n, str) for n in names)
        ):
            raise ValueError(f"names = {list(names)}: give {self.dim} different names, one per coordinate.")
        again = copy.copy(self)
        again.names = tuple(names)
        return again

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        """Independent draws in the parameter's own space."""

    @abstractmethod
    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        """Log density in the parameter's own space."""

    @abstractmethod
    def latent_mean(self) -> Float[Tensor, "#B m"]:
        """Mean in latent space, in float64."""

    def moments(self) -> tuple[Float[Tensor, "#B m"], Float[Tensor, "#B m"]]:
        """Mean and standard deviation in the parameter's own space, in float64; of draws where no formula is given."""
        if not self.transformed:
            return self.latent_mean(), self.covariance().diagonal(dim1=-2, dim2=-1).sqrt()
        draws = self.sample(_MOMENT_DRAWS, torch.Generator().manual_seed(0)).double()
        return draws.mean(0)[None], draws.std(0)[None]

    @abstractmethod
    def normalised(self, mean: Float[Tensor, "m"], std: Float[Tensor, "m"]) -> Prior:
        """The prior of (latent - mean) / std."""

    @abstractmethod
    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Prior:
        """The same prior with its tensors converted."""

    def widened(self, factor: float) -> Prior:
        """The bounds of a uniform prior multiplied by `factor`; any other prior stays as it is."""
        return self

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return theta

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return latent

    def standard_map(self) -> StandardMap:
        """How z ~ N(0, I) becomes theta, in float64."""
        raise UnsupportedPrior(
            f"a {type(self).__name__} prior has no map from standard normal coordinates; add `standard_map` to it."
        )

    def to_json(self) -> dict[str, Any]:
        """A description from which `tallsbi.priors.description.from_json` makes the same prior again."""
        raise UnsupportedPrior(
            f"prior: {type(self).__name__} has no form on disk; add `to_json` to it and its name to "
            "tallsbi.priors.description."
        )


def first_few(words: Sequence[str]) -> str:
    """The first words of a list that may be long."""
    return ", ".join(words[:_SHOWN_COORDINATES]) + (", ..." if len(words) > _SHOWN_COORDINATES else "")


def described(kind: str, **tensors: Tensor) -> dict[str, Any]:
    """The name of a prior and its tensors as JSON, to the last digit."""
    dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    return {"kind": kind, "dtype": dtype, **{name: tensor.tolist() for name, tensor in tensors.items()}}

"""Where a refinement simulates: around the posterior of one dataset, inside the prior's support."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Algorithm
from tallsbi.api import drawing, pairs
from tallsbi.api.chunks import RESULT
from tallsbi.api.local_likelihood import LocalLikelihood, Weighted, radius2, whitened
from tallsbi.api.modes import without_strays
from tallsbi.api.refined import latent_prior
from tallsbi.random import integer_seed, torch_generator
from tallsbi.shapes import Observations

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior

_DRAWS = 200  # per dataset: only means and spreads are needed
_COV_SAMPLES = 100  # of methods that draw for single observations first, which is most of their time
_SUBSETS = 8  # of the data: their posteriors show modes, those of their first observations the first width
_SUBSET_SIZE = 3
_FIRST_WIDTH = 1.5  # in standard deviations of posteriors of single observations
_LARGEST_GAP = 4.0  # in the same unit: modes farther apart are not in one region
_REACH = 5.0  # standard deviations of an unbounded prior beyond which nothing is simulated


@dataclass(eq=False)
class Surroundings:
    """Proposals, simulations and draws of the posterior it starts from; all theta are in the prior's latent space.

    `rows`: the data; `spent`: simulations so far; `widths`: of the proposals so far.
    """

    posterior: TallPosterior
    rows: Observations
    simulator: Any
    algorithm: Algorithm
    method: str
    seed: int
    spent: int = 0
    widths: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prior = latent_prior(self.posterior.prior)
        self.prior_std = self.prior.covariance()[0].diagonal().sqrt()
        self.generator = torch_generator(self.seed, "api", "refine")
        self.calls = 0
        if getattr(self.algorithm, "cov_samples", 0) > _COV_SAMPLES:
            self.algorithm = replace(self.algorithm, cov_samples=_COV_SAMPLES)  # type: ignore[call-arg]

    @property
    def n(self) -> int:
        return self.rows.shape[1]

    def drawn(self, rows: Observations) -> list[Float[Tensor, "S m"]]:
        """Finite draws of the posterior it starts from, for every dataset."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a refinement is meant for posteriors that go wrong
            theta = drawing.draw(
                self.posterior.engine, self.algorithm, self.method, rows, _DRAWS, self.seed, False
            )
        return [draws[draws.isfinite().all(1)] for draws in self.posterior.prior.to_latent(theta)]

    def first_proposal(self) -> tuple[Float[Tensor, "m"], Float[Tensor, "m m"], bool]:
        """Centre and Cholesky factor: around the tall posterior, wider than posteriors of single observations.

        And whether there are several modes. Posteriors of a few observations show that, since errors of the scores of
        many can make two modes of one.
        """
        tall, gap = without_strays(self.drawn(self.rows)[0])
        starts = torch.linspace(0, self.n - 1, min(self.n, _SUBSETS)).long()
        subsets = torch.stack([(starts + i) % self.n for i in range(min(self.n, _SUBSET_SIZE))], 1)
        several = [without_strays(draws)[1] is not None for draws in self.drawn(self.rows[0, subsets])]
        singles = [without_strays(draws)[0] for draws in self.drawn(self.rows[0, starts][:, None])]
        usable = [draws for draws in singles if len(draws) > 2 * draws.shape[1]]
        mean, covariance = self.prior.latent_mean()[0], self.prior.covariance()[0]
        if usable:
            mean = torch.stack([draws.mean(0) for draws in usable]).mean(0)
            covariance = torch.stack(
                [torch.cov(draws.mT).reshape(covariance.shape) for draws in usable]
            ).mean(0)
        scale = torch.linalg.cholesky(covariance + 1e-6 * torch.diag(self.prior_std.square()))
        centre = tall.median(0).values if len(tall) else mean
        # Draws are wrong if single observations exclude their centre.
        if float(whitened(scale, (centre - mean)[None]).square().sum()) > 9 * len(mean):
            centre = mean
        far_apart = (
            gap is not None
            and float(gap.square().sum() / (gap / gap.norm() @ scale).square().sum()) > _LARGEST_GAP**2
        )
        return centre, _FIRST_WIDTH * scale, far_apart or sum(several) > len(several) / 2

    def simulated(
        self, centre: Float[Tensor, "m"], scale: Float[Tensor, "m m"], count: int
    ) -> tuple[Float[Tensor, "N m"], Float[Tensor, "N k"]]:
        """Parameters from the proposal with one observation each, as rows of the network."""
        width = (scale @ scale.mT).diagonal().sqrt() / self.prior_std
        self.widths.append(float(width.log().mean().exp()))
        theta = self.proposed(centre, scale, count)
        condition = self.posterior.layout.condition
        chosen = torch.randint(self.n, (count,), generator=self.generator)
        rows, failed = self.observed(theta, self.rows[0, chosen, -condition:] if condition else None)
        return theta[~failed], rows[~failed]

    def datasets(
        self, theta: Float[Tensor, "B m"], n: int
    ) -> tuple[Float[Tensor, "B m"], Float[Tensor, "B n k"]]:
        """n observations of each parameter, under the conditions of the observed ones."""
        condition = self.posterior.layout.condition
        conditions = self.rows[0, :n, -condition:].repeat(len(theta), 1) if condition else None
        rows, failed = self.observed(theta.repeat_interleave(n, 0), conditions)
        whole = ~failed.unflatten(0, (-1, n)).any(1)
        return theta[whole], rows.unflatten(0, (-1, n))[whole]

    def covariance(self, likelihood: LocalLikelihood, weighted: Weighted) -> Float[Tensor, "m m"]:
        """That of the posterior, or of the likelihood where bounds of the prior cut the posterior off."""
        if self.prior.support() is None:
            return weighted.covariance
        prior = self.prior.covariance()[0]
        return widest(weighted.covariance, likelihood.gaussian_covariance(weighted.mean, self.n, prior))

    def observed(
        self, theta: Float[Tensor, "N m"], conditions: Float[Tensor, "N c"] | None
    ) -> tuple[Float[Tensor, "N k"], Tensor]:
        """One simulation of each parameter, as rows of the network, and which of them failed."""
        self.calls += 1
        self.spent += len(theta)
        seed = integer_seed(self.seed, "api", "refine", "simulator", self.calls)
        layout, parameters = self.posterior.layout, self.posterior.prior.to_parameter(theta).float()
        conditions = None if conditions is None else conditions.float()
        flat, failed = pairs.simulated_rows(self.simulator, parameters, seed, conditions, layout)
        if layout.failures != "drop":
            failed = torch.zeros_like(failed)  # a flagged failure is an observation
        flat = torch.where(failed[:, None], 1.0, flat.double())
        return layout.rows(flat, RESULT), failed

    def proposed(
        self, centre: Float[Tensor, "m"], scale: Float[Tensor, "m m"], count: int
    ) -> Float[Tensor, "N m"]:
        """Gaussian draws within the region, the prior's support and its reach."""
        bounds = self.prior.reach(_REACH)
        kept: list[Tensor] = []
        for _ in range(1000):
            u = torch.randn(2 * count, len(centre), generator=self.generator, dtype=centre.dtype)
            theta = centre + u @ scale.mT
            inside = u.square().sum(1) <= radius2(len(centre))
            if bounds is not None:
                low, high = (bound.flatten() for bound in bounds)
                inside &= ((theta >= low) & (theta <= high)).all(1)
            kept.append(theta[inside])
            if sum(map(len, kept)) >= count:
                return torch.cat(kept)[:count]
        raise ValueError(
            "refine: the posterior lies outside the prior's support, so that nothing can be simulated near it; check "
            "x_obs and the prior."
        )


def narrowed(scale: Float[Tensor, "m m"], covariance: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """Cholesky factor of a covariance that is in no direction wider than the present proposal."""
    return torch.linalg.cholesky(_limited(scale, covariance, 1e-12, 1.0))


def widest(first: Float[Tensor, "m m"], second: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """A covariance that is in no direction narrower than either."""
    return _limited(torch.linalg.cholesky(first), second, 1.0, math.inf)


def _limited(
    scale: Float[Tensor, "m m"], covariance: Float[Tensor, "m m"], least: float, most: float
) -> Float[Tensor, "m m"]:
    """The covariance with its variances relative to scale scale' kept between two bounds."""
    inner = whitened(scale, whitened(scale, covariance).mT)
    values, axes = torch.linalg.eigh((inner + inner.mT) / 2)
    half = scale @ axes * values.clamp(least, most).sqrt()
    return half @ half.mT

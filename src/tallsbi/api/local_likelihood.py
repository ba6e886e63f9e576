"""The likelihood of n observations near one place, learned from simulations around it.

A dataset enters by the mean of its summaries (`tallsbi.api.local_summaries`). By the central limit theorem that mean
is Gaussian, with an expectation and a covariance that depend on theta. Both are fitted to simulations: the
expectation as a polynomial of degree 2 or 3, the covariance as the exponential of a linear function.
The errors of the fit are part of the covariance: that of the coefficients, and what a polynomial of one degree more
would still explain. So the posterior does not become narrower than the simulations can support, however large n is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

Rows = Float[Tensor, "N k"]

_DEGREES = (2, 3)  # 1 only where simulations are few, since its error is largest at the centre
_ROWS_PER_TERM = 50  # simulations that a term of a polynomial needs
_LARGEST_TILT = 2.0  # change of the logarithm of a variance, within the region
_DEGREES_OF_FREEDOM = 5.0  # of the Student proposals that integrate over theta


def terms(dim: int, degree: int) -> int:
    """Terms of a polynomial in `dim` variables."""
    return math.comb(dim + degree, degree)


def polynomial(u: Float[Tensor, "N m"], degree: int) -> Float[Tensor, "N p"]:
    """All monomials up to the degree: the constant first, then u itself."""
    columns = [torch.ones_like(u[:, :1])]
    for power in range(1, degree + 1):
        chosen = torch.combinations(torch.arange(u.shape[1]), power, with_replacement=True)
        columns.append(u[:, chosen].prod(-1))
    return torch.cat(columns, 1)


def whitened(scale: Float[Tensor, "m m"], rows: Float[Tensor, "*b m"]) -> Float[Tensor, "*b m"]:
    """scale^-1 of every row, for a lower triangular scale."""
    return torch.linalg.solve_triangular(scale, rows.mT, upper=False).mT


def radius2(dim: int) -> float:
    """Squared length within which nearly all draws of N(0, I) lie."""
    return dim + 4 * math.sqrt(2 * dim) + 4


@dataclass(frozen=True, eq=False)
class LocalLikelihood:
    """Mean summaries of n observations, for theta = centre + scale u with u within the region.

    In units of `noise`, a Cholesky factor of the covariance of one summary, their covariance given u is
    exp(tilt[0] + u tilt[1:]) / n + error + misfit. `error` is that of the expectation at the centre, and is used
    everywhere: an error that grew outwards would make places plausible only because little is known there.
    `power` below 1 widens the posterior; `extent` above 1 extends the region, to see where else to simulate.
    """

    centre: Float[Tensor, "m"]
    scale: Float[Tensor, "m m"]
    coefficients: Float[Tensor, "p k"]
    noise: Float[Tensor, "k k"]
    tilt: Float[Tensor, "q k k"]
    misfit: Float[Tensor, "k k"]
    degree: int
    error: float
    power: float = 1.0
    extent: float = 1.0

    @classmethod
    def fit(
        cls,
        theta: Float[Tensor, "N m"],
        summaries: Rows,
        centre: Float[Tensor, "m"],
        scale: Float[Tensor, "m m"],
    ) -> LocalLikelihood:
        """From simulations around the centre; those outside the region are left out."""
        u = whitened(scale, theta - centre)
        near = u.square().sum(1) <= radius2(u.shape[1])
        u, summaries = u[near], summaries[near]
        degrees = [k for k in _DEGREES if terms(u.shape[1], k) * _ROWS_PER_TERM <= len(u)] or [1]
        fits = [least_squares(polynomial(u, k), summaries) for k in degrees]
        best = min(range(len(fits)), key=lambda i: fits[i].criterion)
        fitted = fits[best]
        noise = torch.linalg.cholesky(fitted.covariance)
        eye = torch.eye(len(noise), dtype=u.dtype)
        misfit = torch.zeros_like(eye)
        if best + 1 < len(fits):
            higher = fits[best + 1]
            explained = whitened(noise, fitted.residuals - higher.residuals)
            values, axes = torch.linalg.eigh(explained.mT @ explained / len(u))
            # What more terms explain of noise alone, in the direction where they explain most.
            chance = (math.sqrt(higher.terms - fitted.terms) + math.sqrt(len(eye))) ** 2 / len(u)
            misfit = axes @ torch.diag((values - chance).clamp_min(0)) @ axes.mT
        standard = whitened(noise, fitted.residuals)
        products = (standard[:, :, None] * standard[:, None, :] - eye).flatten(1)
        tilt = least_squares(polynomial(u, 1), products).coefficients.unflatten(1, eye.shape)
        error = float(fitted.leverage(polynomial(torch.zeros_like(u[:1]), degrees[best])))
        return cls(centre, scale, fitted.coefficients, noise, tilt, misfit, degrees[best], error)

    def region(self, theta: Float[Tensor, "N m"]) -> Float[Tensor, "N"]:
        """Squared distance from the centre, relative to the region: 1 is its edge."""
        return whitened(self.scale, theta - self.centre).square().sum(1) / radius2(len(self.centre))

    def gaussian_covariance(
        self, theta: Float[Tensor, "m"], n: int, prior_covariance: Float[Tensor, "m m"]
    ) -> Float[Tensor, "m m"]:
        """The posterior's covariance if the prior were Gaussian and the expectation linear as it is at theta."""
        u = whitened(self.scale, (theta - self.centre)[None])
        slopes = torch.autograd.functional.jacobian(self._expectation, u)[0, :, 0]
        gain = torch.linalg.solve_triangular(
            self._factor(u, n)[0], whitened(self.noise, slopes.mT).mT, upper=False
        )
        prior_gain = torch.linalg.solve_triangular(
            torch.linalg.cholesky(prior_covariance), self.scale, upper=False
        )
        half = torch.linalg.cholesky(gain.mT @ gain + prior_gain.mT @ prior_gain)
        root = torch.linalg.solve_triangular(half, self.scale.mT, upper=False)
        return root.mT @ root

    def log_prob(
        self, theta: Float[Tensor, "N m"], summary: Float[Tensor, "k"], n: int
    ) -> Float[Tensor, "N"]:
        """Log likelihood of a mean summary up to a constant; -inf outside the region."""
        u = whitened(self.scale, theta - self.centre)
        inside = u.square().sum(1) <= self.extent**2 * radius2(u.shape[1])
        u = torch.where(inside[:, None], u, 0.0)
        offset = whitened(self.noise, summary - self._expectation(u))
        factor = self._factor(u, n)
        distance = (
            torch.linalg.solve_triangular(factor, offset[..., None], upper=False)[..., 0].square().sum(1)
        )
        log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(1)
        return torch.where(inside, self.power * (-0.5 * distance - log_det), -torch.inf)

    def _expectation(self, u: Float[Tensor, "N m"]) -> Float[Tensor, "N k"]:
        return polynomial(u, self.degree) @ self.coefficients

    def _factor(self, u: Float[Tensor, "N m"], n: int) -> Float[Tensor, "N k k"]:
        """Cholesky factor of the covariance of n mean summaries, errors included, in units of `noise`."""
        values, axes = torch.linalg.eigh(torch.einsum("np,pij->nij", polynomial(u, 1), self.tilt))
        single = axes * values.clamp(-_LARGEST_TILT, _LARGEST_TILT).exp()[:, None] @ axes.mT
        eye = torch.eye(len(self.noise), dtype=u.dtype)
        return torch.linalg.cholesky(single / n + self.error * eye + self.misfit)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A linear regression; `factor` is the Cholesky factor of design' design."""

    coefficients: Float[Tensor, "p k"]
    residuals: Rows
    covariance: Float[Tensor, "k k"]
    factor: Float[Tensor, "p p"]
    terms: int
    criterion: float

    def leverage(self, design: Float[Tensor, "N p"]) -> Float[Tensor, "N"]:
        """Variance of the fitted expectation, in units of the noise."""
        return whitened(self.factor, design).square().sum(1)


def least_squares(design: Float[Tensor, "N p"], values: Rows) -> _Fit:
    """A fit, with Akaike's criterion for Gaussian residuals."""
    rows, count = design.shape
    gram = design.mT @ design
    ridge = 1e-10 * gram.diagonal().mean() * torch.eye(count, dtype=design.dtype)
    factor = torch.linalg.cholesky(gram + ridge)
    coefficients = torch.cholesky_solve(design.mT @ values, factor)
    residuals = values - design @ coefficients
    covariance = residuals.mT @ residuals / max(1, rows - count)
    covariance = covariance + 1e-12 * covariance.diagonal().mean() * torch.eye(
        len(covariance), dtype=design.dtype
    )
    width = values.shape[1]
    criterion = float(rows * torch.logdet(covariance * (1 - count / rows)) + 2 * count * width)
    return _Fit(coefficients, residuals, covariance, factor, count, criterion)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Draws of theta with weights that sum to 1, their mean and covariance, and the effective number of draws."""

    theta: Float[Tensor, "K m"]
    weights: Float[Tensor, "K"]
    ess: float

    @property
    def mean(self) -> Float[Tensor, "m"]:
        return self.weights @ self.theta

    @property
    def covariance(self) -> Float[Tensor, "m m"]:
        centred = self.theta - self.mean
        return (self.weights[:, None] * centred).mT @ centred

    @property
    def std(self) -> Float[Tensor, "m"]:
        return self.covariance.diagonal().sqrt()


LogProb = Callable[[Float[Tensor, "K m"]], Float[Tensor, "K"]]


def integrated(
    log_prob: LogProb,
    mean: Float[Tensor, "m"],
    covariance: Float[Tensor, "m m"],
    generator: torch.Generator,
    size: int = 4000,
    rounds: int = 8,
) -> Weighted:
    """Importance sampling with a Student proposal that follows the target, tempered at first.

    Weights are cut off at sqrt(size) times their mean, so that a single draw does not decide; the effective number
    of draws is that of the raw ones.
    """
    dim = len(mean)
    eye = torch.eye(dim, dtype=mean.dtype)
    for round_number in range(rounds):
        last = round_number == rounds - 1
        factor = torch.linalg.cholesky(
            (1.3 if last else 1.7) * covariance + 1e-12 * covariance.diagonal().mean() * eye
        )
        normal = torch.randn(size, dim, generator=generator, dtype=mean.dtype)
        chi2 = (
            torch.randn(size, int(_DEGREES_OF_FREEDOM), generator=generator, dtype=mean.dtype)
            .square()
            .mean(1)
        )
        length2 = normal.square().sum(1) / chi2
        theta = mean + normal / chi2.sqrt()[:, None] @ factor.mT
        student = 0.5 * (_DEGREES_OF_FREEDOM + dim) * torch.log1p(length2 / _DEGREES_OF_FREEDOM)
        log_weights = log_prob(theta) + student
        log_weights = torch.where(log_weights.isfinite(), log_weights, -torch.inf)
        if not bool(log_weights.isfinite().any()):
            return Weighted(theta, torch.full_like(log_weights, 1 / size), 0.0)
        power, weights = 1.0, torch.softmax(log_weights, 0)
        while not last and _ess(weights) < 20 * dim and power > 1e-6:
            power *= 0.7
            weights = torch.softmax(power * log_weights, 0)
        ess = _ess(weights)
        weights = weights.clamp_max(weights.mean() * math.sqrt(size))
        weighted = Weighted(theta, weights / weights.sum(), ess)
        mean, covariance = weighted.mean, weighted.covariance
    return weighted


def _ess(weights: Float[Tensor, "K"]) -> float:
    return float(1 / weights.square().sum())


def independent_draws(
    log_prob: LogProb, weighted: Weighted, samples: int, generator: torch.Generator, moves: int = 30
) -> Float[Tensor, "S m"]:
    """Draws of equal weight: drawn by weight, then each moved by a Metropolis chain of its own."""
    chosen = torch.multinomial(weighted.weights, samples, replacement=True, generator=generator)
    theta = weighted.theta[chosen]
    dim = theta.shape[1]
    eye = torch.eye(dim, dtype=theta.dtype)
    covariance = weighted.covariance
    factor = (
        torch.linalg.cholesky(covariance + 1e-12 * covariance.diagonal().mean() * eye) * 2.4 / math.sqrt(dim)
    )
    current = log_prob(theta)
    for _ in range(moves):
        normal = torch.randn(samples, dim, generator=generator, dtype=theta.dtype)
        proposed = theta + normal @ factor.mT
        density = log_prob(proposed)
        uniform = torch.rand(samples, generator=generator, dtype=theta.dtype)
        accepted = uniform.log() < density - current
        theta, current = (
            torch.where(accepted[:, None], proposed, theta),
            torch.where(accepted, density, current),
        )
    return theta

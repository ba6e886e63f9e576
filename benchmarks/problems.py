"""Problems with a known likelihood, whose posteriors of n observations are known to a few per cent of their width.

Each has a prior, a simulator of single observations and a log-likelihood. `exact` gives mean and standard deviation of
the posterior, in the prior's latent space (logarithms where parameters are positive).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy import stats

from benchmarks.exact_posterior import Exact, importance
from tallsbi.priors.base import Prior
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.random import numpy_generator, torch_generator

Likelihood = Callable[[np.ndarray, np.ndarray], np.ndarray]

_REACH = 10.0  # standard deviations of the prior: simulators need not work beyond


@dataclass(frozen=True)
class TallProblem:
    """`simulate`: theta [N, m] -> x [N, d]; `log_likelihood`: of all rows of x [n, d], for every theta [S, m]."""

    name: str
    prior: Prior
    simulate: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    log_likelihood: Likelihood
    log_x: bool = False

    def simulations(self, count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Parameters of the prior and one observation each, float32."""
        theta = self.prior.sample(count, torch_generator(seed, "problems", self.name, "theta"))
        rng = numpy_generator(seed, "problems", self.name, "x")
        x = self.simulate(theta.double().numpy(), rng)
        return theta.float(), torch.from_numpy(x).float()

    def datasets(self, count: int, n: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
        """Parameters of the prior [B, m] and n observations of each [B, n, d]; fewer are the beginning of more."""
        theta = self.prior.sample(count, torch_generator(seed, "problems", self.name, "truth"))
        rows = []
        for number, parameter in enumerate(theta.double().numpy()):
            rng = numpy_generator(seed, "problems", self.name, "data", number)
            rows.append(self.simulate(np.broadcast_to(parameter, (n, len(parameter))), rng))
        return theta, torch.from_numpy(np.stack(rows)).float()

    def simulator(self, seed: int = 2) -> Callable[[torch.Tensor], torch.Tensor]:
        """As `TallPosterior.fit` takes it."""
        rng = numpy_generator(seed, "problems", self.name, "simulator")
        return lambda theta: torch.from_numpy(self.simulate(theta.double().numpy(), rng)).float()

    def exact(self, theta: torch.Tensor, x: torch.Tensor) -> Exact:
        """Of one dataset x [n, d] with true parameters theta [m], which is where the search begins."""
        prior = self.prior.to(dtype=torch.float64)
        data = x.double().numpy()

        def log_posterior(latent: np.ndarray) -> np.ndarray:
            value = np.full(len(latent), -np.inf)
            near = (np.abs(latent - centre) < _REACH * width).all(1)
            value[near] = log_density(latent[near])
            return value

        def log_density(latent: np.ndarray) -> np.ndarray:
            parameter = prior.to_parameter(torch.from_numpy(latent))
            # The density of the latent parameter: that of the parameter times the derivative of the map.
            jacobian = np.log(parameter.numpy()).sum(1) if isinstance(prior, LogNormal) else 0.0
            with np.errstate(all="ignore"):
                value = (
                    self.log_likelihood(parameter.numpy(), data)
                    + prior.log_prob(parameter).numpy()
                    + jacobian
                )
            return np.where(np.isfinite(value), value, -np.inf)

        centre, width = self._prior_moments()
        return importance(log_posterior, prior.to_latent(theta.double()).numpy(), width)

    @cache  # noqa: B019 - a handful of problems that live as long as the program
    def _prior_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the prior."""
        draws = self.prior.to_latent(self.prior.sample(2000, torch_generator(0, "problems", "width")))
        return draws.double().mean(0).numpy(), draws.double().std(0).numpy()


def _gaussian(name: str, prior_variance: float, noise: np.ndarray) -> TallProblem:
    m = len(noise)
    root, precision = np.linalg.cholesky(noise), np.linalg.inv(noise)

    def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return theta + rng.standard_normal(theta.shape) @ root.T

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        residual = x.mean(0) - theta
        return -0.5 * len(x) * ((residual @ precision) * residual).sum(1)

    prior = Gaussian(torch.zeros(m), prior_variance * torch.eye(m))
    return TallProblem(name, prior, simulate, log_likelihood)


def _counts() -> TallProblem:
    """Five negative binomial counts; theta = log mean and log size."""

    def law(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, size = np.exp(theta[:, :1]), np.exp(theta[:, 1:])
        return size, size / (size + mean)

    def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        size, success = law(theta)
        return rng.negative_binomial(size, success, (len(theta), 5)).astype(np.float64)

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        size, success = law(theta)
        values, times = np.unique(x, return_counts=True)
        return stats.nbinom.logpmf(values, size, success) @ times

    prior = Gaussian(torch.tensor([2.0, 0.5]), torch.diag(torch.tensor([1.0, 0.5])))
    return TallProblem("counts", prior, simulate, log_likelihood)


def _poisson() -> TallProblem:
    """Poisson regression: six counts with log means on a parabola, three coefficients."""
    place = np.linspace(-1, 1, 6)
    design = np.stack([np.ones(6), place, place**2 - 0.4], 1)

    def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(np.exp(theta @ design.T)).astype(np.float64)

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        log_mean = theta @ design.T
        return log_mean @ x.sum(0) - len(x) * np.exp(log_mean).sum(1)

    prior = Gaussian(torch.tensor([1.5, 0.0, 0.0]), torch.diag(torch.tensor([1.0, 0.5, 0.5])))
    return TallProblem("poisson", prior, simulate, log_likelihood)


def _student() -> TallProblem:
    """Five Student-t draws with three degrees of freedom; theta = location and log scale."""

    def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return theta[:, :1] + np.exp(theta[:, 1:]) * rng.standard_t(3, (len(theta), 5))

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [
                stats.t.logpdf(x.reshape(1, -1), 3, part[:, :1], np.exp(part[:, 1:])).sum(1)
                for part in np.array_split(theta, max(1, len(theta) // 1000))
            ]
        )

    prior = Gaussian(torch.zeros(2), torch.diag(torch.tensor([4.0, 0.5])))
    return TallProblem("student", prior, simulate, log_likelihood)


def _pharmacokinetic() -> TallProblem:
    """One compartment with absorption, eight times, log-normal errors of 15 %; theta = ka, clearance, volume."""
    times = np.array([0.25, 0.5, 1, 2, 4, 8, 12, 24.0])

    def concentration(theta: np.ndarray) -> np.ndarray:
        absorption, clearance, volume = theta.T[:, :, None]
        elimination = clearance / volume
        gap = absorption - elimination
        gap = np.where(np.abs(gap) < 1e-6, 1e-6, gap)
        curve = 10 * absorption / volume / gap * (np.exp(-elimination * times) - np.exp(-absorption * times))
        return np.log(np.maximum(curve, 1e-12))

    def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        level = concentration(theta)
        return np.exp(level + 0.15 * rng.standard_normal(level.shape))

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        residual = np.log(x).mean(0) - concentration(theta)
        return -0.5 * len(x) * np.square(residual / 0.15).sum(1)

    prior = LogNormal(torch.tensor([0.3, math.log(0.5), math.log(5.0)]), torch.tensor([0.5, 0.4, 0.3]))
    return TallProblem("pharmacokinetic", prior, simulate, log_likelihood)


def _sir() -> TallProblem:
    from tallsbi.study.tasks.sir import SIR, TRIALS

    task = SIR()

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        share = np.clip(task.infected(theta), 1e-300, 1 - 1e-12)
        total = x.sum(0)
        return np.log(share) @ total + np.log1p(-share) @ (TRIALS * len(x) - total)

    return TallProblem("sir", task.prior, task.simulate, log_likelihood)


def _lotka_volterra() -> TallProblem:
    from tallsbi.study.tasks.lotka_volterra import NOISE, LotkaVolterra

    task = LotkaVolterra()

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        residual = np.log(x).mean(0) - task.log_populations(theta)
        return -0.5 * len(x) * np.square(residual / NOISE).sum(1)

    return TallProblem("lotka_volterra", task.prior, task.simulate, log_likelihood, log_x=True)


def _bernoulli_glm() -> TallProblem:
    from tallsbi.study.tasks.bernoulli_glm import BernoulliGLM

    task = BernoulliGLM()

    def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return theta @ x.sum(0) - len(x) * np.logaddexp(0, theta @ task.design.T).sum(1)

    return TallProblem("bernoulli_glm", task.prior, task.simulate, log_likelihood)


MAKERS: dict[str, Callable[[], TallProblem]] = {
    "gaussian": lambda: _gaussian("gaussian", 1.0, 0.5 * np.array([[1, 0.8], [0.8, 1]])),
    "sir": _sir,
    "lotka_volterra": _lotka_volterra,
    "bernoulli_glm": _bernoulli_glm,
    "counts": _counts,
    "poisson": _poisson,
    "pharmacokinetic": _pharmacokinetic,
    "student": _student,
    "gaussian_linear": lambda: _gaussian("gaussian_linear", 0.1, 0.1 * np.eye(10)),
}
FIVE = ("gaussian", "sir", "lotka_volterra", "bernoulli_glm", "counts")
"""The problems of the bars; the others are further checks."""


def problem(name: str) -> TallProblem:
    if name not in MAKERS:
        raise ValueError(f"problem {name!r}: there are {', '.join(MAKERS)}.")
    return MAKERS[name]()

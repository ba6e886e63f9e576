"""Numbers for the claims about exact mathematics: Gaussian problems, where everything has a closed form.

The score of a Gaussian problem is affine in theta, so a step of DDIM or DET_GEF takes a Gaussian law to a Gaussian law:
`law` follows its mean and covariance through all steps, without any sampling. Evaluations of the score are counted
as they happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.algorithms.base import Problem
from tallsbi.algorithms.gauss import Gauss
from tallsbi.compose.base import TallScore
from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.compose.gauss import GaussScore
from tallsbi.compose.jac import JacScore
from tallsbi.priors.gaussian import Gaussian, tall_posterior
from tallsbi.random import numpy_generator
from tallsbi.samplers.base import Noise, Sampler
from tallsbi.samplers.ddim import DDIM
from tallsbi.samplers.det_gef import DetGef
from tallsbi.schedule import TOY
from tallsbi.scores.base import BoundScore, Score
from tallsbi.scores.gaussian import GaussianScore
from tallsbi.study.columns.run import THEORY
from tallsbi.study.settings.theory import TheorySettings
from tallsbi.study.settings.toy import ToyCell
from tallsbi.study.tasks.toy import make_toy

TIMES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)
LAW_STEPS = (250, 1000)
LAW_OBSERVATIONS = (1, 10, 50)
COVARIANCE_STEPS = (25, 100, 400)
COVARIANCE_DRAWS = 1000  # of the published runs, per observation
COVARIANCE_SEEDS = 24  # they differ by factors of ten
COUNTED_STEPS = 12
SEEDS = 8  # enough for an interval by ranks


def table(settings: TheorySettings) -> pd.DataFrame:
    """The rows of all quantities."""
    rows = [
        *_score_errors(settings.seed),
        *_laws(settings.seed),
        *_covariance_effects(settings),
        *_counts(settings),
    ]
    return THEORY.frame(rows)


def gaussian_problem(
    case: str, m: int, n: int, rng: np.random.Generator
) -> tuple[Problem, Float[Tensor, "B m"], Float[Tensor, "B m m"]]:
    """`SEEDS` datasets, each with a prior of its own, and their exact posteriors; `case`: isotropic or anisotropic."""

    def covariance() -> np.ndarray:
        if case == "isotropic":
            return np.eye(m) * rng.uniform(0.5, 2.0)
        axes, _ = np.linalg.qr(rng.standard_normal((m, m)))
        return (axes * np.geomspace(0.2, 5.0, m)) @ axes.T

    mean, cov = rng.uniform(-1, 1, (SEEDS, m)), np.stack([covariance() for _ in range(SEEDS)])
    prior = Gaussian(torch.from_numpy(mean), torch.from_numpy(cov))
    noise = covariance()
    theta = mean + np.einsum("bij,bj->bi", np.linalg.cholesky(cov), rng.standard_normal((SEEDS, m)))
    x = theta[:, None] + rng.standard_normal((SEEDS, n, m)) @ np.linalg.cholesky(noise).T
    noise = torch.from_numpy(noise)
    problem = Problem(GaussianScore(prior, noise, TOY), prior, torch.from_numpy(x))
    return problem, *tall_posterior(prior, noise, problem.x)


def tall_scores(problem: Problem) -> dict[str, TallScore]:
    """GAUSS with the exact covariances, JAC, and the plain sum."""
    single = problem.score.bind(problem.x)
    exact = problem.score.posterior_cov[:, None].expand(-1, single.n, -1, -1)
    return {
        "GAUSS": GaussScore(single, problem.prior, exact, torch.float64),
        "JAC": JacScore(single, problem.prior, problem.datasets),
        "sum": FactorisedScore(single, problem.prior, problem.datasets),
    }


def _score_errors(seed: int) -> Iterator[tuple]:
    """Largest error of a composed score relative to the exact one, over times and states."""
    for m, n in product((2, 5, 10), (2, 10, 50)):
        rng = numpy_generator(seed, "theory", "score", m, n)
        problem, mean, cov = gaussian_problem("anisotropic", m, n, rng)
        errors = {}
        for t in TIMES:
            spread = TOY.alpha(t) * cov + TOY.sigma2(t) * torch.eye(m)
            z = torch.from_numpy(rng.standard_normal((SEEDS, 20, m)))
            states = TOY.sqrt_alpha(t) * mean[:, None] + 2 * z @ torch.linalg.cholesky(spread).mT
            exact = (TOY.sqrt_alpha(t) * mean[:, None] - states) @ torch.linalg.inv(spread)
            for name, tall in tall_scores(problem).items():
                error = ((tall(states, t) - exact).norm(dim=-1) / exact.norm(dim=-1)).amax(1)
                errors[name] = torch.maximum(error, errors.get(name, error))
        for name, largest in errors.items():
            yield from (
                ("score_error", "anisotropic", name, m, n, 0, i, v) for i, v in enumerate(largest.tolist())
            )


class _Probe(Noise):
    """No noise, except that the last sample of every dataset gets one standard deviation in every coordinate."""

    def __init__(self) -> None:
        super().__init__([torch.Generator()], torch.float64)

    def __call__(self, datasets: int, samples: int, dim: int) -> Float[Tensor, "B S m"]:
        z = torch.zeros(datasets, samples, dim, dtype=torch.float64)
        z[:, -1] = 1.0
        return z


def law(sampler: Sampler, tall: TallScore) -> tuple[Float[Tensor, "B m"], Float[Tensor, "B m m"]]:
    """Mean and covariance of what a sampler with affine steps and independent noise makes of N(0, I)."""
    B, m = tall.datasets, tall.dim
    mean, cov = torch.zeros(B, m).double(), torch.eye(m).double().expand(B, m, m)
    origin = torch.zeros(1, m)
    probes = torch.cat([origin, torch.eye(m), origin]).double().expand(B, -1, -1)
    noise = _Probe()
    for t, s in pairwise(sampler.grid(tall.schedule)):
        out = sampler.step(tall, probes.clone(), t, s, noise)
        offset, matrix, spread = out[:, 0], (out[:, 1:-1] - out[:, :1]).mT, out[:, -1] - out[:, 0]
        mean = (matrix @ mean[..., None])[..., 0] + offset
        cov = matrix @ cov @ matrix.mT + torch.diag_embed(spread**2)
    return mean, cov


def law_error(
    mean: Float[Tensor, "B m"],
    cov: Float[Tensor, "B m m"],
    true_mean: Float[Tensor, "B m"],
    true_cov: Float[Tensor, "B m m"],
) -> Float[Tensor, "B"]:
    """Wasserstein-2 distance of Gaussians over the spread of the true one."""
    root = _root(true_cov)
    squared = ((mean - true_mean) ** 2).sum(-1) + _trace(cov + true_cov - 2 * _root(root @ cov @ root))
    return (squared.clamp_min(0) / _trace(true_cov)).sqrt()


def _trace(matrices: Float[Tensor, "B m m"]) -> Float[Tensor, "B"]:
    return matrices.diagonal(dim1=-2, dim2=-1).sum(-1)


def _root(matrices: Float[Tensor, "B m m"]) -> Float[Tensor, "B m m"]:
    values, vectors = torch.linalg.eigh(0.5 * (matrices + matrices.mT))
    return (vectors * values.clamp_min(0).sqrt()[..., None, :]) @ vectors.mT


def _laws(seed: int) -> Iterator[tuple]:
    """The laws of the draws of DET_GEF, and of GAUSS with exact covariances, against the exact posterior.

    `law_error`: their distance; `spread`: the standard deviation over the exact one, and for DET_GEF with isotropic
    covariances also its limit for short steps, in rows with 0 steps.
    """
    for (case, m), n in product((("isotropic", 1), ("isotropic", 3), ("anisotropic", 3)), LAW_OBSERVATIONS):
        problem, mean, cov = gaussian_problem(case, m, n, numpy_generator(seed, "theory", "law", case, m))
        scores = tall_scores(problem)
        for steps in LAW_STEPS:
            runs = {
                "DET_GEF": (DetGef(steps=steps), scores["sum"]),
                "GAUSS": (DDIM(steps=steps, eta=1.0), scores["GAUSS"]),
            }
            for name, (sampler, tall) in runs.items():
                reached = law(sampler, tall)
                spread = (_trace(reached[1]) / _trace(cov)).sqrt()
                for quantity, values in (
                    ("law_error", law_error(*reached, mean, cov)),
                    ("spread", spread),
                ):
                    yield from (
                        (quantity, case, name, m, n, steps, i, v) for i, v in enumerate(values.tolist())
                    )
        if case == "isotropic":
            shares = problem.score.posterior_cov[:, 0, 0] / problem.prior.cov[:, 0, 0]
            limits = det_gef_spread(shares, n).tolist()
            yield from (("spread", case, "DET_GEF", m, n, 0, i, v) for i, v in enumerate(limits))


def det_gef_spread(share: Float[Tensor, "B"], n: int) -> Float[Tensor, "B"]:
    """The standard deviation of DET_GEF over that of the posterior of n observations, in the limit of short steps.

    For Gaussians with isotropic covariances; `share` r: the variance v of a single posterior over the prior's, lambda.
    The limit is the reverse diffusion along the plain sum of scores. With w = (1 - alpha) / alpha and theta over
    sqrt(alpha), the variance q of the state follows dq/dw = 2 q (n / (v + w) - (n - 1) / (lambda + w)) - 1, which
    z = (lambda + w) / (v + w) integrates:

        q(0) / V = (1 + r + ... + r^(2n-2)) (n - (n - 1) r) / (2n - 1),   V = v / (n - (n - 1) r).

    This is 1 for n = 1, and 1/2 for many observations.
    """
    powers = share[:, None] ** torch.arange(2 * n - 1)
    return (powers.sum(1) * (n - (n - 1) * share) / (2 * n - 1)).sqrt()


def _covariance_effects(settings: TheorySettings) -> Iterator[tuple]:
    """How far few steps of the covariance runs take GAUSS from the posterior, on the cell of the toy tables.

    The error of GAUSS with the covariances that so many steps lead to, without Monte Carlo error, over its error with
    the covariances of as many exact draws as the published runs make.
    """
    m, n, eta = 10, 32, settings.methods.options.get("GAUSS", {}).get("cov_eta", Gauss.cov_eta)
    for case in ("gaussian-wide", "gaussian-standard"):
        toy = make_toy(ToyCell(settings.model, case, m, COVARIANCE_SEEDS), n, settings.seed)
        score = toy.score(torch.float64)
        single = score.bind(toy.x[:, :n].double())
        exact = tall_posterior(toy.prior, toy.noise_cov, toy.x[:, :n].double())

        def error(
            covariances: Float[Tensor, "B n m m"], single: BoundScore = single, toy=toy, exact=exact
        ) -> Float[Tensor, "B"]:
            tall = GaussScore(single, toy.prior, covariances, torch.float64)
            return law_error(*law(DDIM(steps=max(LAW_STEPS), eta=1.0), tall), *exact)

        stream = numpy_generator(settings.seed, "theory", "covariances", case)
        draws = torch.from_numpy(stream.standard_normal((COVARIANCE_SEEDS, n, COVARIANCE_DRAWS, m)))
        root = torch.linalg.cholesky(score.posterior_cov.expand(COVARIANCE_SEEDS, m, m))[:, None]
        draws = (draws - draws.mean(2, keepdim=True)) @ root.mT
        monte_carlo_error = error(draws.mT @ draws / (COVARIANCE_DRAWS - 1))
        for steps in COVARIANCE_STEPS:
            single_posterior = FactorisedScore(score.bind(toy.x[:, :1]), toy.prior, COVARIANCE_SEEDS)
            _, cov = law(DDIM(steps=steps, eta=eta), single_posterior)
            ratios = (error(cov[:, None].expand(-1, n, -1, -1)) / monte_carlo_error).tolist()
            yield from (("covariance_effect", case, "GAUSS", m, n, steps, i, v) for i, v in enumerate(ratios))


class _CountingScore(Score):
    """A score that counts its evaluations and the entries of its Jacobian, by the number of observations."""

    def __init__(self, score: Score, counts: Counter[tuple[str, int]]) -> None:
        self.score, self.counts, self.dim, self.schedule = score, counts, score.dim, score.schedule

    def bind(self, x: Float[Tensor, "B n d"]) -> BoundScore:
        return _CountingBound(self.score.bind(x), self.counts)

    def repeat(self, n: int) -> Score:
        return _CountingScore(self.score.repeat(n), self.counts)


class _CountingBound(BoundScore):
    def __init__(self, bound: BoundScore, counts: Counter[tuple[str, int]]) -> None:
        self.bound, self.counts, self.n, self.schedule = bound, counts, bound.n, bound.schedule

    def __call__(self, theta: Float[Tensor, "B S m"], t: float) -> Float[Tensor, "B S n m"]:
        scores = self.bound(theta, t)
        self.counts["evaluations", self.n] += scores[..., 0].numel()
        return scores

    def with_jacobian(
        self, theta: Float[Tensor, "B S m"], t: float
    ) -> tuple[Float[Tensor, "B S n m"], Float[Tensor, "B S n m m"]]:
        scores, jacobian = self.bound.with_jacobian(theta, t)
        self.counts["evaluations", self.n] += scores[..., 0].numel()
        self.counts["jacobian_entries", self.n] += jacobian.numel()
        return scores, jacobian


def _counts(settings: TheorySettings) -> Iterator[tuple]:
    """Per time step, sample and observation: evaluations of the score, and entries of its Jacobian over m^2."""
    m, n, samples = 3, 4, 6
    rng = numpy_generator(settings.seed, "theory", "counts")
    problem, _, _ = gaussian_problem("anisotropic", m, n, rng)
    for method, options in settings.methods.options.items():
        sizes = {"steps": COUNTED_STEPS, **({"cov_samples": 50} if "cov_samples" in options else {})}
        algorithm = settings.methods.algorithm(method, **sizes)
        counts: Counter[tuple[str, int]] = Counter()
        counted = Problem(_CountingScore(problem.score, counts), problem.prior, problem.x)
        algorithm.sample(counted, samples, Noise([torch.Generator().manual_seed(0)], torch.float64))
        for quantity, size in (("evaluations", 1), ("jacobian_entries", m**2)):
            number = counts[quantity, n] / (COUNTED_STEPS * samples * n * SEEDS) / size
            yield quantity, "tall", method, m, n, COUNTED_STEPS, 0, number

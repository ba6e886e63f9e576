"""`TallPosterior.refine`: further simulations near the posterior of one dataset make it right for many observations.

A composed posterior adds up n single scores, and their errors with them. Here the data decide where to simulate, and
the law of a few summaries of the whole dataset is learned there (`tallsbi.api.local_summaries`,
`tallsbi.api.local_likelihood`). The first proposal is as wide as posteriors of single observations, which do not
suffer from many observations: one observation then says much of the parameter, so that summaries can be learned, and
the tall posterior is inside even where its centre is several of its standard deviations off. The next one follows
from what it is for: with N simulations `width` posterior standard deviations wide, one observation of n adds the
share g = width^2 / n to the proposal's precision, and k features cost the share k / (N g) of the information; the
width is where that is small. The last two, for the law of the summaries, need no g: they are three times as wide as the
posterior, so that polynomials of low degree describe what lies inside.

At the end fresh datasets with known parameters decide whether the result is trusted. They are simulated near the
posterior, so that calibration there is what is checked.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api import inputs
from tallsbi.api.local_likelihood import LocalLikelihood, Weighted, integrated, radius2, whitened
from tallsbi.api.local_summaries import best_map, learned_features, stacked_map
from tallsbi.api.refined import (
    KEPT,
    REFINED,
    WIDENED,
    NotRefined,
    RefinedPosterior,
    RefineReport,
    local_target,
    localised,
)
from tallsbi.api.surroundings import Surroundings
from tallsbi.random import integer_seed

if TYPE_CHECKING:
    from tallsbi.api.local_summaries import Features
    from tallsbi.api.posterior import TallPosterior

_FEWEST = 1000  # simulations
_CHECK_SHARE, _CHECK_DATASETS, _COMPARED = 0.15, (20, 50), 10  # the last: datasets with both posteriors
_ROUNDS = (0.3, 0.3, 0.15, 0.25)  # shares of the simulations that are not for the check
_WIDTH, _CHECK_WIDTH = 3.0, 2.0  # of proposals, in posterior standard deviations
_MAP_LOSS = 0.03  # share of the information that noise in the map of features may cost
_EDGE, _EDGE_SHARE = 0.7, 0.05  # of the region's squared radius; posterior mass there that is too much
_EXTENT = 2.0  # of the region, in its radius, in which early rounds look for the posterior
_FEWEST_EFFECTIVE = 100
_SIGNIFICANCE = 1e-3


@dataclass(frozen=True, eq=False)
class _Local:
    """A local posterior: the law of summaries of rows, and what the data at hand say."""

    features: Features
    mapped: Float[Tensor, "k r"]
    likelihood: LocalLikelihood
    summary: Float[Tensor, "r"]
    weighted: Weighted

    @property
    def edge(self) -> float:
        """Posterior mass at the edge of the region that was simulated."""
        return float(self.weighted.weights[self.likelihood.region(self.weighted.theta) > _EDGE].sum())

    @property
    def ess(self) -> float:
        return self.weighted.ess / len(self.weighted.weights)


def refine(
    posterior: TallPosterior,
    x_obs: Any,
    simulator: Any,
    simulations: int,
    *,
    method: str = inputs.METHOD,
    settings: Mapping[str, Any] | None = None,
    clip: float = 3.0,
    seed: int = 0,
    device: Any = None,
    precision: str | None = None,
) -> RefinedPosterior:
    """See `TallPosterior.refine`."""
    posterior = replace(posterior, engine=posterior.engine.placed(device, precision))
    groups = posterior.layout.datasets(x_obs).groups
    if len(groups) != 1 or len(groups[0]) != 1:
        raise ValueError(
            f"x_obs: {sum(map(len, groups))} datasets, and refine takes one, [n, {posterior.layout.columns}]; call it "
            "for each."
        )
    if not callable(simulator):
        raise TypeError(
            f"simulator is {type(simulator).__name__}: give a function from theta [N, m] to x [N, d]; refine "
            "simulates near the data at hand, so that pairs drawn from the prior do not serve."
        )
    if inputs.count(simulations, "simulations") < _FEWEST:
        raise ValueError(f"simulations = {simulations}: refine needs at least {_FEWEST}.")
    algorithm = inputs.algorithm(method, settings, clip)
    around = Surroundings(posterior, groups[0], simulator, algorithm, method, seed)
    how = {"method": method, "settings": None if settings is None else dict(settings), "clip": clip}
    refined = replace(refined_around(around, simulations), drawn_with=how)
    if refined.report.outcome != REFINED:
        warnings.warn(f"refine: {refined.report}", NotRefined, stacklevel=3)
    return refined


def refined_around(around: Surroundings, simulations: int) -> RefinedPosterior:
    """The refinement itself, with `simulations` simulations at most."""
    centre, wide, several = around.first_proposal()
    if several:
        return _kept(
            around,
            "the posterior it starts from has several modes, and a refinement looks around one; nothing was simulated",
        )
    check = int(_CHECK_SHARE * simulations)
    local = _local(around, centre, wide, simulations - check)
    if local.edge > _EDGE_SHARE or local.weighted.ess < _FEWEST_EFFECTIVE:
        reason = f"{local.edge:.0%} of the refined posterior is at the edge of what was simulated"
        return _kept(around, f"{reason}, with {local.weighted.ess:.0f} effective draws", ess=local.ess)
    return _judged(around, local, *_checked(around, local, check))


def _local(
    around: Surroundings, centre: Float[Tensor, "m"], wide: Float[Tensor, "m m"], simulations: int
) -> _Local:
    """All rounds of simulation."""
    scale = wide
    counts = [int(share * simulations) for share in _ROUNDS]
    theta, rows = around.simulated(centre, scale, counts[0])
    taught = 0
    seed = integer_seed(around.seed, "api", "refine", "regression")
    features = learned_features(around.posterior.engine, centre, rows, whitened(scale, theta - centre), seed)
    known, observed = features(rows), features(around.rows[0])
    mapped = best_map(known, whitened(wide, theta - centre))
    if mapped is None:
        raise ValueError(
            f"simulations: {counts[0]} of them are too few to learn from {known.shape[1]} features of an observation; "
            f"give at least {simulations * 6 * known.shape[1] // counts[0]}."
        )
    for turn in range(len(counts)):
        if turn:
            taught = len(theta) if turn <= 2 else taught  # the first two rounds, at most
            more, rows = around.simulated(centre, scale, counts[turn])
            theta, known = torch.cat([theta, more]), torch.cat([known, features(rows)])
            mapped = stacked_map(known, theta, centre, (wide, 3 * scale, scale), taught)
        # The law comes from simulations that no map has seen: a map fits the noise of those that taught it.
        likelihood = LocalLikelihood.fit(theta[taught:], known[taught:] @ mapped, centre, scale)
        last = turn == len(counts) - 1
        likelihood = likelihood if last else replace(likelihood, extent=_EXTENT)
        summary = (observed @ mapped).mean(0)
        target = local_target(likelihood, summary, around.n, around.prior)
        weighted = localised(likelihood, target, around.n, around.generator)
        local = _Local(features, mapped, likelihood, summary, weighted)
        if not last:
            centre = weighted.mean
            width2 = _WIDTH**2
            if turn == 0:
                width2 = max(width2, known.shape[1] * around.n / (_MAP_LOSS * counts[turn + 1]))
            scale = wide if local.edge > _EDGE_SHARE else narrowed(scale, width2 * weighted.covariance)
    return local


def _checked(
    around: Surroundings, local: _Local, simulations: int
) -> tuple[Float[Tensor, "b 4 m"], Float[Tensor, "B m"], int]:
    """Fresh datasets near the posterior: for some z and standard deviations, refined and before; whitened z for all.

    Their parameters come from a Gaussian law that takes the prior's place, so that z has mean square 1 exactly
    where the likelihood is right.
    """
    centre, covariance = local.weighted.mean, local.weighted.covariance
    scale = _CHECK_WIDTH * torch.linalg.cholesky(covariance)
    n = min(around.n, simulations // _CHECK_DATASETS[0])
    theta = around.proposed(centre, scale, min(_CHECK_DATASETS[1], simulations // n))
    theta, rows = around.datasets(theta, n)
    means = (local.features(rows.flatten(0, 1)) @ local.mapped).unflatten(0, (-1, n)).mean(1)

    def law(theta: Float[Tensor, "K m"]) -> Float[Tensor, "K"]:
        length2 = whitened(scale, theta - centre).square().sum(1)
        inside = around.prior.log_prob(theta).isfinite() & (length2 <= radius2(len(centre)))
        return torch.where(inside, -0.5 * length2, -torch.inf)

    after = [
        integrated(
            lambda t, mean=mean: local.likelihood.log_prob(t, mean, n) + law(t),  # type: ignore[misc]
            centre, covariance, around.generator, size=1000, rounds=5,
        )
        for mean in means
    ]  # fmt: skip
    whole = [
        whitened(torch.linalg.cholesky(by.covariance), (true - by.mean)[None])[0]
        for true, by in zip(theta, after, strict=True)
    ]
    table = []
    for true, by, draws in zip(theta, after, around.drawn(rows[:_COMPARED]), strict=False):
        weights = torch.softmax(law(draws) - around.prior.log_prob(draws), 0)
        if not float(weights.square().sum()) < 0.05:  # too few are near; NaN where none is
            weights = torch.full_like(weights, 1 / max(1, len(draws)))
        before = Weighted(draws, weights, 0.0)
        table.append(
            torch.stack([(true - by.mean) / by.std, by.std, (true - before.mean) / before.std, before.std])
        )
    return torch.stack(table), torch.stack(whole), n


def _judged(
    around: Surroundings, local: _Local, table: Float[Tensor, "b 4 m"], z: Float[Tensor, "B m"], n: int
) -> RefinedPosterior:
    """Refined where the check has nothing against it, widened where that helps, kept otherwise."""
    after_z, after_std, before_z, before_std = table.unbind(1)
    sure = _chance(float(z.square().sum()), z.numel()) < _SIGNIFICANCE
    biased = _chance(len(z) * float(z.mean(0).square().sum()), z.shape[1]) < _SIGNIFICANCE
    widening = max(1.0, float(z.square().mean().sqrt())) if sure or biased else 1.0
    before = log_density(before_z, before_std)
    gains = log_density(after_z / widening, after_std * widening) - before
    gains = torch.where(before.isfinite(), gains, torch.inf)
    gain, error = float(gains.mean()), float(gains.std() / math.sqrt(len(gains)))
    facts = {
        "ess": local.ess, "check_n": n, "check_datasets": len(z), "gain": gain, "gain_error": error,
        "z_before": float(before_z.square().mean().sqrt()), "z_after": float(z.square().mean().sqrt()),
    }  # fmt: skip
    if gain < (2 * error if sure or biased else 0.0):
        why = (
            "the check rejects the refined posterior"
            if sure or biased
            else "the refined posterior is no better"
        )
        return _kept(around, why, **facts)
    likelihood = replace(local.likelihood, power=1 / widening**2)
    outcome, reason = REFINED, "the check has nothing against the refined posterior"
    if sure or biased:
        outcome = WIDENED
        reason = f"the check found the refined posterior wrong; it is now {widening:.2f} times as wide"
    report = _report(around, outcome, reason, widening=widening, **facts)
    prior = around.posterior.prior
    return RefinedPosterior(around.rows[0], prior, report, likelihood, local.summary, around.posterior)


def _kept(around: Surroundings, reason: str, **facts: Any) -> RefinedPosterior:
    report = _report(around, KEPT, f"{reason}; draws are those of the posterior it started from", **facts)
    return RefinedPosterior(around.rows[0], around.posterior.prior, report, start=around.posterior)


def _report(around: Surroundings, outcome: str, reason: str, **facts: Any) -> RefineReport:
    return RefineReport(outcome, reason, around.n, around.spent, tuple(around.widths), **facts)


def log_density(z: Float[Tensor, "B m"], std: Float[Tensor, "B m"]) -> Float[Tensor, "B"]:
    """Of the true parameters, coordinate by coordinate, under Gaussians; up to a constant."""
    return (-0.5 * z.square() - std.log()).sum(1)


def narrowed(scale: Float[Tensor, "m m"], covariance: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """Cholesky factor of a covariance that is in no direction wider than the present proposal."""
    inner = whitened(scale, whitened(scale, covariance).mT)
    values, axes = torch.linalg.eigh((inner + inner.mT) / 2)
    half = scale @ axes * values.clamp(1e-12, 1.0).sqrt()
    return torch.linalg.cholesky(half @ half.mT)


def _chance(squares: float, degrees: int) -> float:
    """That a chi-squared variable is larger."""
    halves = torch.tensor([degrees / 2, squares / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(halves[0], halves[1]))

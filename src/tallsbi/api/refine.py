"""`TallPosterior.refine`: further simulations near the posterior of one dataset make it right for many observations.

A composed posterior adds up n single scores, and their errors with them. Here the data decide where to simulate, and
the law of a few summaries of the whole dataset is learned there (`tallsbi.api.local_summaries`,
`tallsbi.api.local_likelihood`). There are four rounds of simulations, each from a proposal of its own:

1.  As wide as posteriors of single observations, which do not suffer from many observations: one observation then says
    much of the parameter, so that summaries can be learned, and the tall posterior is inside even where its centre is
    several of its standard deviations off.
2.  For the map from features to summaries. With N simulations from a proposal `width` posterior standard deviations
    wide, one observation of n adds the share g = width^2 / n to the proposal's precision, and k features cost the share
    k / (N g) of the information. The width is chosen so that this share is small.
3.  and 4. For the law of the summaries, three times as wide as the posterior, so that polynomials of low degree
    describe what lies inside. A bound of the prior that cuts the posterior off does not narrow them: slopes are
    measured the worse, the narrower a proposal is.

At the end fresh datasets with known parameters, simulated near the posterior, decide whether the result is trusted.
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
from tallsbi.api.surroundings import Surroundings, narrowed
from tallsbi.random import integer_seed

if TYPE_CHECKING:
    from tallsbi.api.local_summaries import Features
    from tallsbi.api.posterior import TallPosterior

_FEWEST_SIMULATIONS = 1000
_CHECK_SHARE = 0.15  # of the simulations
_FEWEST_CHECK_DATASETS, _MOST_CHECK_DATASETS = 20, 50
_COMPARED_DATASETS = 10  # of these, with the posterior before as well
_ROUND_SHARES = (0.3, 0.3, 0.15, 0.25)  # of the simulations that are not for the check
_WIDTH = 3.0  # of proposals, in posterior standard deviations
_CHECK_WIDTH = 1.0  # of the check, likewise: farther out the law is less right than at the posterior
_MAP_LOSS = 0.03  # share of the information that noise in the map of features may cost
_EDGE = 0.7  # of the region's squared radius, where its edge begins
_LARGEST_EDGE_MASS = 0.05  # of the posterior
_EDGE_FACTOR = 2.0  # on the scale of a proposal at whose edge the posterior lies
_EARLY_EXTENT = 2.0  # radii of the region within which early rounds look for the posterior
_FEWEST_EFFECTIVE_DRAWS = 100
_SIGNIFICANCE = 1e-3


@dataclass(frozen=True, eq=False)
class _LocalPosterior:
    """Features of rows, the map to summaries with its law, the summary of the data, and weighted draws given it."""

    features: Features
    mapped: Float[Tensor, "k r"]
    likelihood: LocalLikelihood
    summary: Float[Tensor, "r"]
    weighted: Weighted

    @property
    def edge_mass(self) -> float:
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
    if inputs.count(simulations, "simulations") < _FEWEST_SIMULATIONS:
        raise ValueError(f"simulations = {simulations}: refine needs at least {_FEWEST_SIMULATIONS}.")
    algorithm = inputs.algorithm(method, settings, clip)
    surroundings = Surroundings(posterior, groups[0], simulator, algorithm, method, seed)
    drawn_with = {"method": method, "settings": None if settings is None else dict(settings), "clip": clip}
    refined = replace(refined_around(surroundings, simulations), drawn_with=drawn_with)
    if refined.report.outcome != REFINED:
        warnings.warn(f"refine: {refined.report}", NotRefined, stacklevel=3)
    return refined


def refined_around(surroundings: Surroundings, simulations: int) -> RefinedPosterior:
    """The refinement, with `simulations` simulations at most."""
    centre, first_scale, several = surroundings.first_proposal()
    if several:
        return _keep(
            surroundings,
            "the posterior it starts from has several modes, and a refinement looks around one; nothing was simulated",
        )
    check = int(_CHECK_SHARE * simulations)
    local = _learn(surroundings, centre, first_scale, simulations - check)
    if local.edge_mass > _LARGEST_EDGE_MASS or local.weighted.ess < _FEWEST_EFFECTIVE_DRAWS:
        reason = f"{local.edge_mass:.0%} of the refined posterior is at the edge of what was simulated"
        return _keep(surroundings, f"{reason}, with {local.weighted.ess:.0f} effective draws", ess=local.ess)
    return _judge(surroundings, local, *_check(surroundings, local, check))


def _learn(
    surroundings: Surroundings,
    centre: Float[Tensor, "m"],
    first_scale: Float[Tensor, "m m"],
    simulations: int,
) -> _LocalPosterior:
    """The posterior after all rounds of simulations."""
    scale = first_scale
    counts = [int(share * simulations) for share in _ROUND_SHARES]
    theta, rows = surroundings.simulated(centre, scale, counts[0])
    map_rows = 0
    seed = integer_seed(surroundings.seed, "api", "refine", "regression")
    features = learned_features(
        surroundings.posterior.engine, centre, rows, whitened(scale, theta - centre), seed
    )
    values, observed = features(rows), features(surroundings.rows[0])
    mapped = best_map(values, whitened(first_scale, theta - centre))
    if mapped is None:
        raise ValueError(
            f"simulations: {counts[0]} of them are too few to learn from {values.shape[1]} features of an observation; "
            f"give at least {simulations * 6 * values.shape[1] // counts[0]}."
        )
    for round_number in range(len(counts)):
        if round_number:
            map_rows = len(theta) if round_number <= 2 else map_rows  # the first two rounds, at most
            new_theta, rows = surroundings.simulated(centre, scale, counts[round_number])
            theta, values = torch.cat([theta, new_theta]), torch.cat([values, features(rows)])
            mapped = stacked_map(values, theta, centre, (first_scale, 3 * scale, scale), map_rows)
        # After the first round the law comes from other simulations than the maps, which fit the noise of theirs.
        likelihood = LocalLikelihood.fit(theta[map_rows:], values[map_rows:] @ mapped, centre, scale)
        last = round_number == len(counts) - 1
        likelihood = likelihood if last else replace(likelihood, extent=_EARLY_EXTENT)
        summary = (observed @ mapped).mean(0)
        target = local_target(likelihood, summary, surroundings.n, surroundings.prior)
        weighted = localised(likelihood, target, surroundings.n, surroundings.generator)
        local = _LocalPosterior(features, mapped, likelihood, summary, weighted)
        if not last:
            centre = weighted.mean
            width2 = _WIDTH**2
            if round_number == 0:
                width2 = max(width2, values.shape[1] * surroundings.n / (_MAP_LOSS * counts[1]))
            scale = (
                narrowed(first_scale, _EDGE_FACTOR**2 * scale @ scale.mT)
                if local.edge_mass > _LARGEST_EDGE_MASS
                else narrowed(scale, width2 * surroundings.covariance(likelihood, weighted))
            )
    return local


def _check(
    surroundings: Surroundings, local: _LocalPosterior, simulations: int
) -> tuple[Float[Tensor, "b 4 m"], Float[Tensor, "B m"], int]:
    """Fresh datasets near the posterior: for some, z and standard deviations of the refined posterior and of the one
    before; for all, whitened z of the refined one; and their n.

    Their parameters come from a Gaussian law that takes the prior's place, so that z has mean square 1 exactly
    where the likelihood is right.
    """
    centre, covariance = local.weighted.mean, local.weighted.covariance
    scale = _CHECK_WIDTH * torch.linalg.cholesky(covariance)
    n = min(surroundings.n, simulations // _FEWEST_CHECK_DATASETS)
    theta = surroundings.proposed(centre, scale, min(_MOST_CHECK_DATASETS, simulations // n))
    theta, rows = surroundings.datasets(theta, n)
    means = (local.features(rows.flatten(0, 1)) @ local.mapped).unflatten(0, (-1, n)).mean(1)

    def log_check_prior(theta: Float[Tensor, "K m"]) -> Float[Tensor, "K"]:
        length2 = whitened(scale, theta - centre).square().sum(1)
        inside = surroundings.prior.log_prob(theta).isfinite() & (length2 <= radius2(len(centre)))
        return torch.where(inside, -0.5 * length2, -torch.inf)

    after = [
        integrated(
            lambda t, mean=mean: local.likelihood.log_prob(t, mean, n) + log_check_prior(t),  # type: ignore[misc]
            centre, covariance, surroundings.generator, size=1000, rounds=5,
        )
        for mean in means
    ]  # fmt: skip
    whitened_z = [
        whitened(torch.linalg.cholesky(refined.covariance), (truth - refined.mean)[None])[0]
        for truth, refined in zip(theta, after, strict=True)
    ]
    table = []
    drawn = surroundings.drawn(rows[:_COMPARED_DATASETS])
    for truth, refined, draws in zip(theta, after, drawn, strict=False):
        weights = torch.softmax(log_check_prior(draws) - surroundings.prior.log_prob(draws), 0)
        if not float(weights.square().sum()) < 0.05:  # too few are near; NaN where none is
            weights = torch.full_like(weights, 1 / max(1, len(draws)))
        before = Weighted(draws, weights, 0.0)
        z_refined, z_before = (truth - refined.mean) / refined.std, (truth - before.mean) / before.std
        table.append(torch.stack([z_refined, refined.std, z_before, before.std]))
    return torch.stack(table), torch.stack(whitened_z), n


def _judge(
    surroundings: Surroundings,
    local: _LocalPosterior,
    table: Float[Tensor, "b 4 m"],
    z: Float[Tensor, "B m"],
    n: int,
) -> RefinedPosterior:
    """Refined where the check has nothing against it, widened where that helps, kept otherwise."""
    after_z, after_std, before_z, before_std = table.unbind(1)
    too_narrow = _p_value(float(z.square().sum()), z.numel()) < _SIGNIFICANCE
    biased = _p_value(len(z) * float(z.mean(0).square().sum()), z.shape[1]) < _SIGNIFICANCE
    rejected = too_narrow or biased
    excess = max(1.0, float(z.square().mean().sqrt())) if rejected else 1.0
    widening = likelihood_widening(excess)
    before = log_density(before_z, before_std)
    gains = log_density(after_z / excess, after_std * excess) - before
    gains = torch.where(before.isfinite(), gains, torch.inf)
    gain, error = float(gains.mean()), float(gains.std() / math.sqrt(len(gains)))
    facts = {
        "ess": local.ess, "check_n": n, "check_datasets": len(z), "gain": gain, "gain_error": error,
        "z_before": float(before_z.square().mean().sqrt()), "z_after": float(z.square().mean().sqrt()),
    }  # fmt: skip
    if gain < (2 * error if rejected else 0.0):
        reason = (
            "the check rejects the refined posterior" if rejected else "the refined posterior is no better"
        )
        return _keep(surroundings, reason, **facts)
    likelihood = replace(local.likelihood, power=1 / widening**2)
    outcome, reason = REFINED, "the check has nothing against the refined posterior"
    if rejected:
        outcome = WIDENED
        reason = f"the check found the refined posterior wrong; it is now {widening:.2f} times as wide"
    report = _report(surroundings, outcome, reason, widening=widening, **facts)
    prior = surroundings.posterior.prior
    return RefinedPosterior(
        surroundings.rows[0], prior, report, likelihood, local.summary, surroundings.posterior
    )


def _keep(surroundings: Surroundings, reason: str, **facts: Any) -> RefinedPosterior:
    reason = f"{reason}; draws are those of the posterior it started from"
    report = _report(surroundings, KEPT, reason, **facts)
    return RefinedPosterior(
        surroundings.rows[0], surroundings.posterior.prior, report, start=surroundings.posterior
    )


def _report(surroundings: Surroundings, outcome: str, reason: str, **facts: Any) -> RefineReport:
    return RefineReport(
        outcome, reason, surroundings.n, surroundings.spent, tuple(surroundings.widths), **facts
    )


def likelihood_widening(excess: float, width: float = _CHECK_WIDTH) -> float:
    """By how much the likelihood is too narrow where the check's posteriors are by the factor `excess`.

    With a prior `width` times as wide as the likelihood, which is right, the mean square z of a likelihood that is too
    narrow by the factor f is (f^2 + width^-2) / (1 + width^-2).
    """
    return math.sqrt(1 + (excess * excess - 1) * (1 + width**-2))


def log_density(z: Float[Tensor, "B m"], std: Float[Tensor, "B m"]) -> Float[Tensor, "B"]:
    """Of the true parameters under Gaussians, the sum over coordinates, up to a constant."""
    return (-0.5 * z.square() - std.log()).sum(1)


def _p_value(squares: float, degrees: int) -> float:
    """The probability that a chi-squared variable is larger."""
    halves = torch.tensor([degrees / 2, squares / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(halves[0], halves[1]))

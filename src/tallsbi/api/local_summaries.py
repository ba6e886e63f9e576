"""Summaries of single observations whose mean over a dataset carries what the dataset says of theta, near one place.

Near theta_0 the gradient of log p(x | theta) at theta_0 is all that is needed, and its mean over n observations is
as good as the n observations. It is approximated by a linear map of features: the columns of x and their products,
the trained network's scores at theta_0, and a small regression of theta on both. A poor map loses information and
makes the posterior wider; it does not make it wrong, since the law of the summaries is learned from simulations
afterwards (see `tallsbi.api.local_likelihood`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tallsbi.api.engine import Engine
from tallsbi.api.local_likelihood import Rows, least_squares, polynomial, radius2, terms, whitened

_TIMES = (0.05, 0.2)  # of the diffusion: scores with hardly any noise, and with that of a wide proposal
_MOST_COLUMNS = 50  # of x that enter one by one; of more, as many principal components
_MOST_COLUMNS_MULTIPLIED = 12  # the products of more columns do not enter
_LARGEST_DEVIATION = 5.0  # standard deviations at which features are cut off, so that no single value decides
_RIDGE = 1e-4
_ROWS_PER_FEATURE, _ROWS_PER_TERM = 5, 50  # simulations
_LEAST_VARIANCE_SHARE = 1e-7  # of the largest variance: what is below is rounding
_HIDDEN, _EPOCHS, _BATCH, _RATE = 64, 60, 256, 2e-3
_ROWS_PER_CALL = 2000

Features = Callable[[Float[Tensor, "N d"]], Rows]


def standardised(rows: Rows) -> Callable[[Rows], Rows]:
    """Columns with mean 0 and spread 1, bounded; one that never varies becomes 0."""
    mean, std = rows.mean(0), rows.std(0)
    varies = rows.amin(0) < rows.amax(0)
    std = torch.where(varies, std, torch.inf)
    return lambda values: ((values - mean) / std).clamp(-_LARGEST_DEVIATION, _LARGEST_DEVIATION)


def columns(x: Float[Tensor, "N d"]) -> Features:
    """Columns of x without long tails, standardised; of many columns the principal components."""
    low, centre, high = torch.quantile(x[:10_000], torch.tensor([0.1, 0.5, 0.9], dtype=x.dtype), 0)
    scale = torch.where(high > low, (high - low) / 5, x.std(0))
    scale = torch.where(scale > 0, scale, 1.0)
    scaled = (x - centre) / scale
    long_tailed = _kurtosis(scaled.asinh()) < _kurtosis(scaled) - 0.5

    def without_tails(x: Float[Tensor, "N d"]) -> Rows:
        values = (x - centre) / scale
        return torch.where(long_tailed, values.asinh(), values)

    standard = standardised(without_tails(x))
    if x.shape[1] <= _MOST_COLUMNS:
        return lambda x: standard(without_tails(x))
    values = standard(without_tails(x))
    axes = torch.linalg.eigh(values.mT @ values)[1][:, -_MOST_COLUMNS:]
    rotated = standardised(values @ axes)
    return lambda x: rotated(standard(without_tails(x)) @ axes)


def _kurtosis(values: Rows) -> Float[Tensor, "k"]:
    centred = values - values.mean(0)
    return centred.pow(4).mean(0) / centred.square().mean(0).square().clamp_min(1e-24)


def network_scores(engine: Engine, latent: Float[Tensor, "m"]) -> Features:
    """The engine's scores of single observations at one theta, given in the prior's latent space."""
    ends = torch.stack([torch.zeros_like(latent), torch.ones_like(latent)])[None]
    zero, one = engine.prior.to_latent(engine.to_parameter(ends))[0].double()
    state = ((latent - zero) / (one - zero)).to(engine.dtype)

    def scores(x: Float[Tensor, "N d"]) -> Rows:
        blocks = []
        for rows in x.split(_ROWS_PER_CALL):
            problem = engine.problem(rows[None])
            bound, schedule = problem.score.bind(problem.x), problem.score.schedule
            at_times = [
                bound((schedule.sqrt_alpha(t) * state)[None, None], t)[0, 0] * math.sqrt(schedule.sigma2(t))
                for t in _TIMES
            ]
            blocks.append(torch.cat(at_times, 1).double())
        return torch.cat(blocks)

    return scores


def regression(features: Rows, target: Float[Tensor, "N m"], seed: int) -> Callable[[Rows], Rows]:
    """E[target | features] by a small network, with the weights of the lowest validation loss."""
    generator = torch.Generator().manual_seed(seed)
    inputs, target = features.float(), target.float()
    order = torch.randperm(len(inputs), generator=generator)
    held_out, rows = order[: len(order) // 8], order[len(order) // 8 :]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(inputs.shape[1], _HIDDEN), nn.SiLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.SiLU(),
            nn.Linear(_HIDDEN, target.shape[1]),
        )  # fmt: skip
    batch = min(_BATCH, len(rows))
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=1e-2)
    steps = _EPOCHS * (len(rows) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda k: min(1.0, (k + 1) / 50) * 0.5 * (1 + math.cos(math.pi * k / steps))
    )
    lowest, weights = math.inf, network.state_dict()
    for _ in range(_EPOCHS):
        order = rows[torch.randperm(len(rows), generator=generator)]
        for chosen in order[: len(order) // batch * batch].split(batch):
            loss = (network(inputs[chosen]) - target[chosen]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            loss = float((network(inputs[held_out]) - target[held_out]).square().mean())
        if loss < lowest:
            lowest, weights = loss, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(weights)
    network.requires_grad_(False)
    return lambda features: network(features.float()).double()


def learned_features(
    engine: Engine,
    latent: Float[Tensor, "m"],
    rows: Float[Tensor, "N d"],
    u: Float[Tensor, "N m"],
    seed: int,
) -> Features:
    """Features of observations, learned from simulations `rows` of the parameters u, whitened around `latent`."""
    if not bool((rows.amin(0) < rows.amax(0)).any()):
        raise ValueError(
            "refine: the simulator gave the same observation for every parameter near the posterior."
        )
    columns_of, scores_of = columns(rows), network_scores(engine, latent)
    values, scores = columns_of(rows), scores_of(rows)
    scaled = standardised(scores)
    regressed = regression(torch.cat([values, scaled(scores)], 1), u, seed)
    first, second = torch.triu_indices(values.shape[1], values.shape[1])
    multiplied = values.shape[1] <= _MOST_COLUMNS_MULTIPLIED

    def features(rows: Float[Tensor, "N d"]) -> Rows:
        values, scores = columns_of(rows), scaled(scores_of(rows))
        parts = [values, scores, regressed(torch.cat([values, scores], 1))]
        return torch.cat(parts + ([values[:, first] * values[:, second]] if multiplied else []), 1)

    return features


def best_map(features: Rows, u: Float[Tensor, "N m"]) -> Float[Tensor, "k r"] | None:
    """Fisher's linear score: covariance^-1 times the gradient of the features' expectation, at the middle of what is
    near.

    Whitened; None where too few simulations are near.
    """
    near = u.square().sum(1) <= radius2(u.shape[1])
    features, u = features[near], u[near]
    if len(u) < _ROWS_PER_FEATURE * features.shape[1]:
        return None
    u = u - u.mean(0)  # the mean is not 0 near an edge of the prior
    degree = max(k for k in (1, 2, 3) if k == 1 or _ROWS_PER_TERM * terms(u.shape[1], k) <= len(u))
    fitted = least_squares(polynomial(u, degree), features)
    std = fitted.covariance.diagonal().sqrt().clamp_min(1e-9)
    eye = torch.eye(len(std), dtype=std.dtype)
    gradient = fitted.coefficients[1 : 1 + u.shape[1]].mT / std[:, None]
    mapped = (
        torch.linalg.solve(fitted.covariance / std / std[:, None] + _RIDGE * eye, gradient) / std[:, None]
    )
    values, axes = torch.linalg.eigh(mapped.mT @ fitted.covariance @ mapped)
    # Fewer than m directions where an observation cannot tell all parameters apart.
    kept = values > _LEAST_VARIANCE_SHARE * values.max()
    return mapped @ axes[:, kept] / values[kept].sqrt()


def stacked_map(
    features: Rows,
    theta: Float[Tensor, "N m"],
    centre: Float[Tensor, "m"],
    scales: Sequence[Float[Tensor, "m m"]],
    map_rows: int,
) -> Float[Tensor, "k r"]:
    """The best combination of maps that are learned at several scales, from the first `map_rows` simulations.

    A wide scale shows with little noise what one observation says; a narrow one shows how it says it here. The other
    simulations choose a combination, at the last scale: a new map of all features would fit their noise.
    """
    maps = [best_map(features[:map_rows], whitened(scale, theta[:map_rows] - centre)) for scale in scales]
    stack = torch.cat([mapped for mapped in maps if mapped is not None], 1)
    chosen = best_map(features[map_rows:] @ stack, whitened(scales[-1], theta[map_rows:] - centre))
    return stack if chosen is None else stack @ chosen

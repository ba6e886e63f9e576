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
_COLUMNS = 50  # of x that enter one by one; of more, as many principal components
_PRODUCTS = 12  # columns up to which their products enter
_FARTHEST = 5.0  # standard deviations at which features are cut off, so that no single value decides
_RIDGE = 1e-4
_ROWS_PER_FEATURE, _ROWS_PER_TERM = 5, 50  # simulations
_RANK = 1e-7  # a variance below this share of the largest one is rounding
_HIDDEN, _EPOCHS, _BATCH, _RATE = 64, 60, 256, 2e-3
_ROWS_PER_CALL = 2000

Features = Callable[[Float[Tensor, "N d"]], Rows]


def standardised(rows: Rows) -> Callable[[Rows], Rows]:
    """Columns with mean 0 and spread 1, bounded; one that never varies becomes 0."""
    mean, std = rows.mean(0), rows.std(0)
    varies = rows.amin(0) < rows.amax(0)
    std = torch.where(varies, std, torch.inf)
    return lambda values: ((values - mean) / std).clamp(-_FARTHEST, _FARTHEST)


def columns(x: Float[Tensor, "N d"]) -> Features:
    """Columns of x without long tails, standardised; of many columns the principal components."""
    low, centre, high = torch.quantile(x[:10_000], torch.tensor([0.1, 0.5, 0.9], dtype=x.dtype), 0)
    scale = torch.where(high > low, (high - low) / 5, x.std(0))
    scale = torch.where(scale > 0, scale, 1.0)
    plain = (x - centre) / scale
    bent = _kurtosis(plain.asinh()) < _kurtosis(plain) - 0.5

    def straight(x: Float[Tensor, "N d"]) -> Rows:
        values = (x - centre) / scale
        return torch.where(bent, values.asinh(), values)

    standard = standardised(straight(x))
    if x.shape[1] <= _COLUMNS:
        return lambda x: standard(straight(x))
    values = standard(straight(x))
    axes = torch.linalg.eigh(values.mT @ values)[1][:, -_COLUMNS:]
    rotated = standardised(values @ axes)
    return lambda x: rotated(standard(straight(x)) @ axes)


def _kurtosis(values: Rows) -> Float[Tensor, "k"]:
    centred = values - values.mean(0)
    return centred.pow(4).mean(0) / centred.square().mean(0).square().clamp_min(1e-24)


def network_scores(engine: Engine, latent: Float[Tensor, "m"]) -> Features:
    """The engine's scores of single observations at one theta, given in the prior's latent space."""
    ends = torch.stack([torch.zeros_like(latent), torch.ones_like(latent)])[None]
    zero, one = engine.prior.to_latent(engine.to_parameter(ends))[0].double()
    state = ((latent - zero) / (one - zero)).to(engine.dtype)

    def scores(x: Float[Tensor, "N d"]) -> Rows:
        parts = []
        for rows in x.split(_ROWS_PER_CALL):
            problem = engine.problem(rows[None])
            bound, schedule = problem.score.bind(problem.x), problem.score.schedule
            at = [
                bound((schedule.sqrt_alpha(t) * state)[None, None], t)[0, 0] * math.sqrt(schedule.sigma2(t))
                for t in _TIMES
            ]
            parts.append(torch.cat(at, 1).double())
        return torch.cat(parts)

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
    best, weights = math.inf, network.state_dict()
    for _ in range(_EPOCHS):
        order = rows[torch.randperm(len(rows), generator=generator)]
        for part in order[: len(order) // batch * batch].split(batch):
            loss = (network(inputs[part]) - target[part]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            loss = float((network(inputs[held_out]) - target[held_out]).square().mean())
        if loss < best:
            best, weights = loss, {name: value.clone() for name, value in network.state_dict().items()}
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
    """Features of observations from simulations of the parameters u, which are latent ones, whitened around one."""
    if not bool((rows.amin(0) < rows.amax(0)).any()):
        raise ValueError(
            "refine: the simulator gave the same observation for every parameter near the posterior."
        )
    single, scores = columns(rows), network_scores(engine, latent)
    values, drawn = single(rows), scores(rows)
    scaled = standardised(drawn)
    regressed = regression(torch.cat([values, scaled(drawn)], 1), u, seed)
    first, second = torch.triu_indices(values.shape[1], values.shape[1])
    products = values.shape[1] <= _PRODUCTS

    def features(rows: Float[Tensor, "N d"]) -> Rows:
        values, network = single(rows), scaled(scores(rows))
        parts = [values, network, regressed(torch.cat([values, network], 1))]
        return torch.cat(parts + ([values[:, first] * values[:, second]] if products else []), 1)

    return features


def best_map(features: Rows, u: Float[Tensor, "N m"]) -> Float[Tensor, "k r"] | None:
    """covariance^-1 gradient of the features' expectation in the middle of what is near: the linear score of Fisher.

    Whitened; None where too few simulations are near.
    """
    near = u.square().sum(1) <= radius2(u.shape[1])
    features, u = features[near], u[near]
    if len(u) < _ROWS_PER_FEATURE * features.shape[1]:
        return None
    u = u - u.mean(0)  # not 0 where the prior ends
    degree = max(k for k in (1, 2, 3) if k == 1 or _ROWS_PER_TERM * terms(u.shape[1], k) <= len(u))
    fitted = least_squares(polynomial(u, degree), features)
    std = fitted.covariance.diagonal().sqrt().clamp_min(1e-9)
    eye = torch.eye(len(std), dtype=std.dtype)
    gradient = fitted.coefficients[1 : 1 + u.shape[1]].mT / std[:, None]
    mapped = (
        torch.linalg.solve(fitted.covariance / std / std[:, None] + _RIDGE * eye, gradient) / std[:, None]
    )
    values, axes = torch.linalg.eigh(mapped.mT @ fitted.covariance @ mapped)
    kept = values > _RANK * values.max()  # fewer than m where an observation cannot tell all parameters apart
    return mapped @ axes[:, kept] / values[kept].sqrt()


def stacked_map(
    features: Rows,
    theta: Float[Tensor, "N m"],
    centre: Float[Tensor, "m"],
    scales: Sequence[Float[Tensor, "m m"]],
    past: int,
) -> Float[Tensor, "k r"]:
    """The best combination of maps that the `past` first simulations teach at several scales.

    A wide scale shows what one observation says, with little noise; a narrow one how it says it here. The other
    simulations choose among these few, in the last scale: all features at once would fit their noise.
    """
    taught = [best_map(features[:past], whitened(scale, theta[:past] - centre)) for scale in scales]
    stack = torch.cat([mapped for mapped in taught if mapped is not None], 1)
    chosen = best_map(features[past:] @ stack, whitened(scales[-1], theta[past:] - centre))
    return stack if chosen is None else stack @ chosen

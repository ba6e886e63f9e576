"""Summaries and their law, learnt crosswise from the same simulations.

The summary of an observation is the mean of K regressions of theta, each learnt without one fold of the simulations.
The law of the summaries is learnt from the simulations of each fold, with the regression that has not seen that fold:
a regression fits the simulations it was learnt from too well, and with it the law would be too narrow and in the
wrong place. Over the folds the mean of these single summaries is h, the mean of the average summary. Their covariance
is a little larger, as the regressions differ; simulations that no network has seen show by how much (`noise`).

K laws are learnt, each again without one fold. The jackknife over these folds estimates the squared error of h
(`variance`), as far as it comes from the simulations that happened to be drawn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.random import integer_seed
from tallsbi.summaries.maps import Whitening
from tallsbi.summaries.regression import ConditionalGaussian, apply
from tallsbi.summaries.training import Simulations, train, trimmed_mean

EPOCHS = 40
LEAST_NOISE_SHARE = 0.1  # of a single summary's squared departure: never counted as error of h
_FOLDS = 4
_REGRESSION_DEPTH, _LAW_DEPTH = 4, 3
_HELD_OUT_SHARE = 0.1  # of the simulations, and at least
_FEWEST_HELD_OUT = 20
_BIMODAL_KURTOSIS = 1.6  # a normal law has 3, a uniform one 1.8, two narrow modes 1
_FEWEST_UNCERTAIN = 200  # rows whose kurtosis is looked at apart
_FARTHEST_RESIDUAL = 4.0  # standard deviations; strays beyond must not hide how the others lie
_TRIMMED_SHARE = 0.05  # of the largest disagreements between laws
_LARGEST_DEPARTURE = 36.0  # squared: one stray simulation must not decide
_LEAST_DEPARTURE = 1e-4  # squared: a simulator without noise departs by nothing

Networks = tuple[ConditionalGaussian, ...]


@dataclass(frozen=True, eq=False)
class Learnt:
    """See `tallsbi.summaries.likelihood.SummaryLikelihood`."""

    regressions: tuple[ConditionalGaussian, ...]
    phi: Whitening
    laws: tuple[ConditionalGaussian, ...]
    noise: float
    variance: float


def crossfit(
    v: Float[Tensor, "N m"], u: Float[Tensor, "N d"], seed: int, epochs: int, seconds: float
) -> Learnt | None:
    """From parameters v and observations u, both whitened; None where single posteriors have two modes."""
    generator = torch.Generator().manual_seed(integer_seed(seed, "summaries", "split"))
    order = torch.randperm(len(v), generator=generator).to(v.device)
    count = min(max(_FEWEST_HELD_OUT, round(_HELD_OUT_SHARE * len(v))), len(v) // 3)
    held, folds = order[:count], order[count:].tensor_split(_FOLDS)
    end = time.monotonic() + seconds

    def learn(
        inputs: Tensor, targets: Tensor, name: str, share: float, depth: int, judges: Sequence[Tensor]
    ) -> Networks:
        data = []
        for fold in range(_FOLDS):
            rows = torch.cat([fold_rows for number, fold_rows in enumerate(folds) if number != fold])
            data.append(Simulations(inputs[rows], targets[rows], inputs[judges[fold]], targets[judges[fold]]))
        seeds = [integer_seed(seed, "summaries", f"{name}{fold}") for fold in range(_FOLDS)]
        return train(data, seeds, epochs, share * max(0.0, end - time.monotonic()), depth)

    # A regression must not know the simulations of its fold in any way; a law may be judged by them.
    regressions = learn(u, v, "regression", 0.5, _REGRESSION_DEPTH, [held] * _FOLDS)
    if is_bimodal(regressions[0], u[held], v[held]):
        return None
    single = torch.zeros_like(v)
    for fold, rows in enumerate(folds):
        for unseen in (rows, held[fold::_FOLDS]):
            single[unseen] = average(regressions[fold : fold + 1], u[unseen])
    phi = Whitening.of(single[torch.cat(folds)])
    y = phi(single)
    laws = learn(v, y, "law", 1.0, _LAW_DEPTH, [torch.cat([held, fold]) for fold in folds])
    departure = departures(laws, v[held], phi(average(regressions, u[held])))
    total = max(_LEAST_DEPARTURE, float(departure.clamp_max(_LARGEST_DEPARTURE).mean()))
    variance = min(trimmed_mean(jackknife(laws, v[held]), _TRIMMED_SHARE), total)
    noise = max(total - variance, LEAST_NOISE_SHARE * total)
    return Learnt(regressions, phi, laws, noise, variance)


@torch.no_grad()
def average(networks: Networks, u: Float[Tensor, "N d"]) -> Float[Tensor, "N k"]:
    """The mean of their means."""
    return torch.stack([network(u)[0] for network in networks]).mean(0)


@torch.no_grad()
def departures(laws: Networks, v: Float[Tensor, "N m"], summary: Float[Tensor, "N k"]) -> Float[Tensor, "N"]:
    """Squared departure of a summary from its mean in units of C, averaged over coordinates and laws."""
    squares = [law.standardised(v, summary)[0].square().mean(1) for law in laws]
    return torch.stack(squares).double().mean(0)


@torch.no_grad()
def is_bimodal(regression: ConditionalGaussian, u: Float[Tensor, "V d"], v: Float[Tensor, "V m"]) -> bool:
    """Whether the residuals of a parameter are at two ends and hardly between, of all rows or of the least certain.

    Two modes that are close together look like one, and the farther apart they are, the wider is the regression.
    """
    residual, log_diagonal = (values.double() for values in regression.standardised(u, v))
    least_certain = log_diagonal.argsort(0)[: max(_FEWEST_UNCERTAIN, len(v) // 3)]
    kurtoses = torch.stack([_kurtosis(residual), _kurtosis(residual.gather(0, least_certain))])
    return bool((kurtoses < _BIMODAL_KURTOSIS).any())


def _kurtosis(residual: Float[Tensor, "V m"]) -> Float[Tensor, "m"]:
    """Without strays; of values that are all equal, as in a simulation without noise, it is not a number."""
    low, middle, high = torch.quantile(residual, torch.tensor([0.25, 0.5, 0.75]).to(residual), 0)
    near = (residual - middle).abs() <= _FARTHEST_RESIDUAL * (high - low) / 1.349
    centre = (near * residual).sum(0) / near.sum(0)
    second, fourth = ((near * (residual - centre).pow(k)).sum(0) / near.sum(0) for k in (2, 4))
    return fourth / second.square()


@torch.no_grad()
def jackknife(laws: Networks, v: Float[Tensor, "N m"]) -> Float[Tensor, "N"]:
    """Squared error of the mean of laws that were each learnt without one of K folds, in units of C."""
    outputs = [law(v) for law in laws]
    centre = torch.stack([mean for mean, _, _ in outputs]).mean(0)
    squares = torch.stack([apply(root, mean - centre).square().mean(1) for mean, root, _ in outputs]).sum(0)
    return squares.double() * (len(laws) - 1) / len(laws)

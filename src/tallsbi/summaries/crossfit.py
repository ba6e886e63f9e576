"""Summaries and their law, learnt crosswise from the same simulations.

The summary of an observation is the mean of what K regressions of theta say, each learnt without one fold of the
simulations. Their law is learnt from what the regression that has not seen a simulation says of it: a regression
knows the simulations it was learnt of, and a law learnt of these would be too narrow and off its place. Over the
folds the mean of these single summaries is h, the mean of the average summary; their covariance is a little larger,
by what the regressions differ, and simulations that no network has seen say by how much (`noise`).

K laws are learnt, each again without one fold. The jackknife of these folds estimates the squared error of h
(`variance`), as far as it comes from the simulations that happened to be drawn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.random import integer_seed
from tallsbi.summaries.maps import Whitening
from tallsbi.summaries.regression import ConditionalGaussian, apply, train

EPOCHS = 40
LEAST_NOISE = 0.1  # share of a single summary's departure that is never counted as error of h
_FOLDS = 4
_DEPTH = 4  # of the regressions; of a law 3
_HELD_OUT = 0.1  # of the simulations, and at least
_FEWEST_HELD_OUT = 20
_TWO_MODES = 1.6  # kurtosis: a normal law has 3, a uniform one 1.8, two narrow modes 1
_TRIMMED = 0.05  # share of the largest disagreements left out
_LARGEST_SQUARE = 36.0  # of a departure: one stray simulation must not decide
_LEAST_DEPARTURE = 1e-4  # of a simulator without noise

Networks = Sequence[ConditionalGaussian]


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
    count = min(max(_FEWEST_HELD_OUT, round(_HELD_OUT * len(v))), len(v) // 3)
    held, folds = order[:count], order[count:].tensor_split(_FOLDS)
    remaining = _time_slices(seconds)

    def learn(inputs: Tensor, targets: Tensor, fold: int, name: str, depth: int) -> ConditionalGaussian:
        rows = torch.cat([each for number, each in enumerate(folds) if number != fold])
        parts = inputs[rows], targets[rows], inputs[held], targets[held]
        stream = integer_seed(seed, "summaries", f"{name}{fold}")
        return train(*parts, epochs, stream, next(remaining), depth)

    regressions: list[ConditionalGaussian] = []
    single = torch.zeros_like(v)
    for fold, rows in enumerate(folds):
        regressions.append(learn(u, v, fold, "regression", _DEPTH))
        if fold == 0 and _two_modes(regressions[0], u[held], v[held]):
            return None
        for seen in (rows, held[fold::_FOLDS]):
            single[seen] = average(regressions[-1:], u[seen])
    phi = Whitening.of(single[torch.cat(folds)])
    y = phi(single)
    laws = tuple(learn(v, y, fold, "law", 3) for fold in range(_FOLDS))
    departure = departures(laws, v[held], phi(average(regressions, u[held])))
    shown = max(_LEAST_DEPARTURE, float(departure.clamp_max(_LARGEST_SQUARE).mean()))
    variance = min(_jackknife(laws, v[held]), shown)
    noise = max(shown - variance, LEAST_NOISE * shown)
    return Learnt(tuple(regressions), phi, laws, noise, variance)


@torch.no_grad()
def average(networks: Networks, u: Float[Tensor, "N d"]) -> Float[Tensor, "N k"]:
    """What they say on average."""
    return torch.stack([network(u)[0] for network in networks]).mean(0)


@torch.no_grad()
def departures(laws: Networks, v: Float[Tensor, "N m"], summary: Float[Tensor, "N k"]) -> Float[Tensor, "N"]:
    """Squared departure of a summary from its mean in units of C, averaged over coordinates and laws."""
    squares = [apply(root, summary - mean).square().mean(1) for mean, root, _ in (law(v) for law in laws)]
    return torch.stack(squares).double().mean(0)


def _time_slices(seconds: float) -> Iterator[float]:
    """For each of the trainings an equal share of what is left."""
    end = time.monotonic() + seconds
    for trainings in range(2 * _FOLDS, 0, -1):
        yield max(0.0, end - time.monotonic()) / trainings if math.isfinite(end) else math.inf


@torch.no_grad()
def _two_modes(regression: ConditionalGaussian, u: Float[Tensor, "V d"], v: Float[Tensor, "V m"]) -> bool:
    """Whether what a regression leaves of a parameter is at two ends and hardly between."""
    mean, root, _ = regression(u)
    left = apply(root, v - mean).double()
    left = ((left - left.mean(0)) / left.std(0)).clamp(-5, 5)
    return bool((left.pow(4).mean(0) < _TWO_MODES).any())


@torch.no_grad()
def _jackknife(laws: Networks, v: Float[Tensor, "V m"]) -> float:
    """Squared error of the mean of laws that were each learnt without one of K folds, in units of C."""
    said = [law(v) for law in laws]
    centre = torch.stack([mean for mean, _, _ in said]).mean(0)
    squares = torch.stack([apply(root, mean - centre).square().mean(1) for mean, root, _ in said]).sum(0)
    kept = squares.double().sort().values[: max(1, round((1 - _TRIMMED) * len(squares)))]
    return float(kept.mean()) * (len(laws) - 1) / len(laws)

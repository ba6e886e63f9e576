"""Simulations that fail for some parameters, and what leaving them out does to the posterior.

Let s(theta) be the probability that a simulation succeeds. Training on those that did would learn the posterior under
the prior lambda s in place of lambda, and the posterior of n observations would be wrong by s(theta)^n. Which posterior
is right depends on what a failure means:

    drop   The n observations exist because failures do not become observations: a solver that crashed, an experiment
           that is repeated until it works. Their likelihood is p(x | theta, success). Rows that succeeded are drawn in
           proportion to 1 / s(theta), with s learned from all parameters: their prior is lambda again.
    flag   A failure is an outcome that could have been observed: a population that died out. The likelihood of an
           observation that did not fail is s(theta) p(x | theta, success), and failures are observations too. The
           network sees all rows, with a flag.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tallsbi.scores.network import MLP

_LEAST_PROBABILITY = 0.05  # in weights: with a smaller one, one row would count for many
_HOPELESS_PROBABILITY = 0.02
_STEPS, _CHECK_EVERY = 250, 10
_HIDDEN = (32, 32)
_LEAST_GAIN = 1e-4  # of the held-out loss; less is chance


class SimulationFailures(UserWarning):
    """Simulations that failed and were left out or flagged."""


@dataclass(frozen=True, eq=False)
class Success:
    """The learned probability of success of every simulation."""

    probability: Float[Tensor, "N"]

    @property
    def weights(self) -> Float[Tensor, "N"]:
        return 1 / self.probability.clamp_min(_LEAST_PROBABILITY)

    @property
    def hopeless(self) -> float:
        """The share of the prior where simulations (almost) never succeed."""
        return float((self.probability < _HOPELESS_PROBABILITY).double().mean())


def learned_success(
    latent: Float[Tensor, "N m"], succeeded: Bool[Tensor, "N"], generator: torch.Generator
) -> Success:
    """A small classifier, kept where held-out rows confirm it; otherwise the same probability everywhere."""
    inputs = ((latent - latent.mean(0)) / latent.std(0)).float()
    target = succeeded.float()[:, None]
    order = torch.randperm(len(inputs), generator=generator)
    held_out, rows = order[: len(order) // 5], order[len(order) // 5 :]
    rate = target[rows].mean().clamp(1e-3, 1 - 1e-3)
    network = MLP((inputs.shape[1], *_HIDDEN, 1), False, generator)
    with torch.no_grad():
        network.linear[-1].weight.zero_()
        network.linear[-1].bias.fill_(float(torch.logit(rate)))
    optimiser = torch.optim.AdamW(network.parameters(), 0.01, weight_decay=1e-3)
    loss = nn.functional.binary_cross_entropy_with_logits
    probability = rate.expand(len(inputs))
    lowest = float(loss(torch.logit(probability[held_out]), target[held_out, 0])) - _LEAST_GAIN
    for step in range(_STEPS):
        with torch.enable_grad():
            optimiser.zero_grad()
            loss(network(inputs[rows]), target[rows]).backward()
            optimiser.step()
        if step % _CHECK_EVERY == _CHECK_EVERY - 1:
            with torch.no_grad():
                logits = network(inputs)
                value = float(loss(logits[held_out], target[held_out]))
            if value < lowest:
                lowest, probability = value, logits[:, 0].sigmoid()
    return Success(probability)


def warn(
    failures: str, theta: Float[Tensor, "N m"], succeeded: Bool[Tensor, "N"], success: Success | None
) -> None:
    """Says how many simulations failed, what was done about it, and for which posterior."""
    failed = int((~succeeded).sum())
    first = theta[int((~succeeded).nonzero()[0])].tolist()
    message = f"{failed} of {len(theta)} simulations failed, the first for theta = {first}. "
    if success is None:
        message += (
            "on_failure='flag': a failure is an outcome of its own; observations that failed can be given as NaN, and "
            "those that did not count as evidence against parameters that often fail."
        )
    else:
        low, high = float(success.probability.min()), float(success.probability.max())
        message += (
            "on_failure='drop': the posterior is that of observations that did not fail, p(x | theta, success); what "
            "is left was weighted by 1 / P(success | theta), learned from all parameters and between "
            f"{max(low, 0):.2g} and {high:.2g}. If a failure could have been observed, use on_failure='flag'."
        )
        if success.hopeless > 0.01:
            message += (
                f" In {success.hopeless:.0%} of the prior almost nothing succeeds: the posterior is hardly defined "
                "there, and draws near its edge are less exact; a prior without this region is better."
            )
    warnings.warn(message, SimulationFailures, stacklevel=4)

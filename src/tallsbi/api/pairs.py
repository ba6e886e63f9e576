"""Pairs (theta, x) of parameters and observations: simulated here, or given and checked."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tallsbi.api import survival
from tallsbi.api.chunks import RESULT, SimulationError, Stack, stacked
from tallsbi.api.inputs import as_tensor, choice, count
from tallsbi.api.layout import Layout
from tallsbi.api.simulation import AllFailed, Calling, simulate
from tallsbi.api.streams import seeded
from tallsbi.priors.base import Prior
from tallsbi.random import integer_seed, torch_generator

FAILURES = ("raise", "drop", "flag")
_RETRIES = 20  # of a failed simulation, where observations stand for p(x | theta, success)


class AnotherPrior(UserWarning):
    """Parameters that were not drawn from the prior."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Parameters and rows of the network, what the rows are made of, and how often each is drawn (None: equally)."""

    theta: Float[Tensor, "N m"]
    rows: Float[Tensor, "N k"]
    layout: Layout
    weights: Float[Tensor, "N"] | None = None

    @property
    def conditions(self) -> Float[Tensor, "N c"]:
        return self.rows[:, self.rows.shape[1] - self.layout.condition :]


def training_pairs(
    prior: Prior,
    source: Any,
    simulations: int,
    seed: int,
    *,
    how: Calling | None = None,
    on_failure: str = "raise",
    condition: Any = None,
    by_step: bool = False,
    log_x: bool = False,
) -> Pairs:
    """Parameters and observations in float32, simulated or given as a pair (theta, x)."""
    choice(on_failure, FAILURES, "on_failure")
    if callable(source):
        how = Calling() if how is None else how
        total = count(simulations, "simulations")
        theta = prior.sample(total, torch_generator(seed, "api", "parameters")).float()
        conditions = None if condition is None else drawn_conditions(condition, total, seed)
        how = replace(how, stop=on_failure == "raise")
        stack = simulate(source, theta, integer_seed(seed, "api", "simulator"), conditions, how)
        name = RESULT
    else:
        theta, stack, conditions = _checked_pairs(prior, source)
        name = "x"
    x, failed = stack.x, stack.failed
    flat, missing = x.flatten(1), ~x.flatten(1).isfinite()
    if bool(failed.any()) and on_failure == "raise":
        raise _not_finite(name, failed, theta, x)
    weights = None
    if on_failure == "drop":
        kept, success = ~failed, None
        if bool(failed.any()):
            success = survival.learned_success(
                prior.to_latent(theta.double()), kept, torch_generator(seed, "api", "success")
            )
            survival.warn("drop", theta, kept, success)
            weights = success.weights[kept]
        theta, flat, missing, x = theta[kept], flat[kept], missing[kept], x[kept]
        conditions = None if conditions is None else conditions[kept]
    elif bool(failed.any()):
        survival.warn("flag", theta, ~failed, None)
    width = 0 if conditions is None else conditions.shape[1]
    layout = Layout.of(x, missing, condition=width, failures=on_failure, by_step=by_step, log_x=log_x)
    flat = flat if conditions is None else torch.cat([flat, conditions], dim=1)
    return Pairs(theta, layout.rows(flat, name), layout, weights)


def _checked_pairs(prior: Prior, source: Any) -> tuple[Tensor, Stack, Tensor | None]:
    if not isinstance(source, (tuple, list)) or len(source) not in (2, 3):
        raise TypeError(
            f"the second argument is {type(source).__name__}: give a simulator, a function from theta [N, m] to "
            "x [N, d], or a pair (theta, x), or (theta, x, condition)."
        )
    theta = as_tensor(source[0], "theta").float()
    if theta.ndim != 2 or theta.shape[1] != prior.dim:
        raise ValueError(
            f"theta has shape {tuple(theta.shape)}; the prior has {prior.dim} coordinates: give [N, {prior.dim}]."
        )
    finite = theta.isfinite().all(1)
    if not bool(finite.all()):
        raise ValueError(
            f"theta: {int((~finite).sum())} of {len(theta)} rows are not finite, the first is row "
            f"{int((~finite).nonzero()[0])}; leave them out together with their observations."
        )
    outside = ~prior.log_prob(theta.double()).isfinite()
    if bool(outside.any()):
        row = int(outside.nonzero()[0])
        raise ValueError(
            f"theta: {int(outside.sum())} of {len(theta)} rows are outside the prior's support, the first is row "
            f"{row}, {theta[row].tolist()}; simulate with parameters drawn from this prior."
        )
    warn_of_another_prior(prior, theta)
    stack = _observations(source[1])
    conditions = None if len(source) == 2 else as_tensor(source[2], "condition").float()
    for values, name in ((stack.x, "x"), (conditions, "condition")):
        if values is not None and (values.ndim < 2 or len(values) != len(theta) or 0 in values.shape):
            hint = "theta and x need the same number of rows, one observation each"
            hint = f"for numbers, add an axis: {name}[:, None]" if values.shape == (len(theta),) else hint
            raise ValueError(
                f"{name} has shape {tuple(values.shape)} for {len(theta)} parameters: expected [{len(theta)}, d]; "
                f"{hint}."
            )
    return theta, stack, conditions


def _observations(x: Any) -> Stack:
    """A list of observations of different lengths is padded."""
    if isinstance(x, (list, tuple)) and len({len(row) for row in x if hasattr(row, "__len__")}) > 1:
        return stacked([as_tensor(row, "x").float().numpy() for row in x], "x")
    return Stack(as_tensor(x, "x").float())


def drawn_conditions(condition: Any, total: int, seed: int) -> Float[Tensor, "N c"]:
    """A function of the number of rows, a distribution with `sample`, or an array [K, c] that rows are drawn from."""
    if hasattr(condition, "sample") or callable(condition):
        with seeded(condition, integer_seed(seed, "api", "conditions")):
            values = condition.sample((total,)) if hasattr(condition, "sample") else condition(total)
        values = as_tensor(values, "condition").float()
        if values.ndim == 1 and len(values) == total:
            values = values[:, None]
        if values.ndim != 2 or len(values) != total:
            raise ValueError(
                f"condition gave shape {tuple(values.shape)} for {total} rows: expected [{total}, c]."
            )
    else:
        design = as_tensor(condition, "condition").float()
        design = design[:, None] if design.ndim == 1 else design
        if design.ndim != 2 or not len(design):
            raise ValueError(
                f"condition has shape {tuple(design.shape)}: give [K, c], the conditions that simulations draw from, "
                "or a function that draws N of them, [N, c]."
            )
        values = design[
            torch.randint(len(design), (total,), generator=torch_generator(seed, "api", "conditions"))
        ]
    if not bool(values.isfinite().all()):
        raise ValueError("condition: holds values that are not finite; conditions are known numbers.")
    return values


def simulated_rows(
    source: Any,
    theta: Float[Tensor, "N m"],
    seed: int,
    conditions: Float[Tensor, "N c"] | None,
    layout: Layout,
    how: Calling | None = None,
) -> tuple[Float[Tensor, "N k"], Bool[Tensor, "N"]]:
    """Simulations as flat rows, each followed by its condition, and which of them failed.

    Where training left failures out, they are tried again: observations are p(x | theta, success).
    """
    flat, failed = _flat_rows(source, theta, seed, conditions, layout, how)
    for attempt in range(_RETRIES if layout.failures == "drop" else 0):
        if not bool(failed.any()):
            break
        rows = failed.nonzero()[:, 0]
        row_conditions = None if conditions is None else conditions[rows]
        try:
            flat[rows], failed[rows] = _flat_rows(
                source, theta[rows], integer_seed(seed, attempt), row_conditions, layout, how
            )
        except AllFailed:
            continue  # the next attempt draws other noise
    return flat, failed


def _flat_rows(
    source: Any,
    theta: Float[Tensor, "N m"],
    seed: int,
    conditions: Float[Tensor, "N c"] | None,
    layout: Layout,
    how: Calling | None = None,
) -> tuple[Float[Tensor, "N k"], Bool[Tensor, "N"]]:
    """`simulated_rows` without trying again."""
    how = replace(how or Calling(), stop=layout.failures == "raise", folder=None)
    stack = simulate(source, theta, seed, conditions, how)
    x, failed = stack.x, stack.failed
    if x.shape[1:] != layout.shape and layout.flags and x.shape[2:] == layout.shape[1:]:
        padded = torch.full((len(x), *layout.shape), torch.nan)
        padded[:, : x.shape[1]] = x[:, : layout.shape[0]]
        x = padded
    if tuple(x.shape[1:]) != layout.shape:
        raise ValueError(
            f"{RESULT} has observations of shape {tuple(x.shape[1:])}; the network was trained on "
            f"{layout.shape}."
        )
    if layout.failures == "raise" and bool(failed.any()):
        raise _not_finite(RESULT, failed, theta, x)
    flat = x.flatten(1)
    return flat if conditions is None else torch.cat([flat, conditions], dim=1), failed


def _not_finite(
    name: str, failed: Bool[Tensor, "N"], theta: Float[Tensor, "N m"], x: Tensor
) -> SimulationError:
    row = int(failed.nonzero()[0])
    return SimulationError(
        f"{name}: {int(failed.sum())} of {len(theta)} simulations are not finite, the first is row {row}, theta = "
        f"{theta[row].tolist()}. Leaving failures out changes the posterior: on_failure='drop' does so and corrects "
        "for it, on_failure='flag' makes a failure an outcome of its own. The others are `simulations` of this error.",
        theta[row],
        (theta[~failed], x[~failed]),
    )


def warn_of_another_prior(prior: Prior, theta: Float[Tensor, "N m"]) -> None:
    """Warns where parameters are not spread like the prior, which is divided out n - 1 times."""
    if len(theta) < 2:
        return
    latent, mean = prior.to_latent(theta.double()), prior.latent_mean()[0]
    sd = prior.covariance()[0].diagonal().sqrt()
    given_mean, given_sd = latent.mean(0), latent.std(0)
    tolerance = max(6 / math.sqrt(len(latent)), 0.1)  # six standard errors of a mean, and a tenth
    differs = (((given_mean - mean) / sd).abs() > tolerance) | ((given_sd / sd).log().abs() > tolerance)
    if bool(differs.any()):
        k = int(differs.nonzero()[0])
        warnings.warn(
            f"theta does not look like draws of the prior: coordinate {k} has mean {float(given_mean[k]):.3g} and "
            f"standard deviation {float(given_sd[k]):.3g} (in the space where the prior is Gaussian or uniform), the "
            f"prior has {float(mean[k]):.3g} and {float(sd[k]):.3g}. The prior is divided out n - 1 times: with "
            "another one than theta was drawn from, the posterior of many observations is wrong.",
            AnotherPrior,
            stacklevel=4,
        )

"""Posterior predictive checks: do observations simulated with draws of the posterior look like those observed?

For each draw of the posterior n observations are simulated. Means and standard deviations of every number of an
observation, over the n of a dataset, are compared with those observed. The p-value of the check is the share of
simulated datasets whose most unusual statistic is as unusual as that of the observed one. It is small where the model
cannot produce the data, whatever the parameters; parameters were fitted to the data, so it is rarely small by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api import inputs
from tallsbi.api.inputs import METHOD
from tallsbi.api.layout import Layout
from tallsbi.api.pairs import simulated_rows
from tallsbi.api.simulation import Calling
from tallsbi.random import integer_seed

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior

_SIGNIFICANCE = 0.05
_SHOWN_STATISTICS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """Datasets simulated with draws of the posterior, and how the observed one compares.

    `statistics` [S, K] are those of simulated datasets, `observed_statistics` [K] those of the observed one, `names`
    what they are, `p_values` [K] two-sided, `p_value` that of all together.
    """

    simulated: Float[Tensor, "S n ..."]
    observed: Float[Tensor, "n ..."]
    theta: Float[Tensor, "S m"]
    names: list[str]
    statistics: Float[Tensor, "S K"]
    observed_statistics: Float[Tensor, "K"]
    p_values: Float[Tensor, "K"]
    p_value: float

    @property
    def plausible(self) -> bool:
        """The check does not reject at 5 per cent."""
        return self.p_value >= _SIGNIFICANCE

    def __str__(self) -> str:
        n, total = len(self.observed), len(self.simulated)
        lines = [
            f"posterior predictive check, n = {n}, {total} simulated datasets: p = {self.p_value:.3f}",
            "statistic              observed   simulated, 5 to 95 %   p-value",
        ]
        for i in self.p_values.argsort()[:_SHOWN_STATISTICS].tolist():
            low, high = self.statistics[:, i].nanquantile(torch.tensor([0.05, 0.95]).double()).tolist()
            value = float(self.observed_statistics[i])
            lines.append(
                f"{self.names[i]:20s} {value:10.4g}   {low:9.4g} to {high:9.4g}   {float(self.p_values[i]):.3f}"
            )
        if len(self.names) > _SHOWN_STATISTICS:
            lines.append(f"(the {_SHOWN_STATISTICS} most unusual of {len(self.names)})")
        lines.append(
            "the data look like simulations"
            if self.plausible
            else "the simulations do NOT look like the data"
        )
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self) -> Any:
        """Simulated observations as bands or histograms, the observed ones on top: a figure of matplotlib."""
        from tallsbi.api.plots import prediction_plot

        return prediction_plot(self)


def predict(
    self: TallPosterior,
    simulator: Any,
    x_obs: Any,
    draws: Any = None,
    *,
    n_samples: int = 200,
    method: str = METHOD,
    settings: Mapping[str, Any] | None = None,
    clip: float = 3.0,
    seed: int = 0,
    batched: bool | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Prediction:
    """Posterior predictive check: do datasets simulated with draws of the posterior look like `x_obs` [n, d]?

    `draws` [S, m]: those of `sample`; drawn here if they are not given. `batched`, `workers`: as those of `fit`. Print
    the result, or call its `plot()`.
    """
    if not callable(simulator):
        raise TypeError(
            f"predict: the simulator is {type(simulator).__name__}, which cannot be called: predict(simulator, x_obs)."
        )
    how = Calling(batched=batched, workers=inputs.count(workers, "workers"), progress=progress)
    n = self.layout.datasets(x_obs).groups[0].shape[1]
    self.layout.one_dataset(x_obs, n, "predict")
    flat = self.layout.flat(x_obs)
    if draws is None:
        draws = self.sample(
            x_obs, n_samples, method, settings=settings, clip=clip, seed=seed, progress=progress
        )
    theta = inputs.draws(draws, self.theta_dim)
    return predicted(simulator, theta, flat, self.layout, integer_seed(seed, "api", "predict"), how)


def predicted(
    simulator: Any,
    theta: Float[Tensor, "S m"],
    flat: Float[Tensor, "n c"],
    layout: Layout,
    seed: int,
    how: Calling | None = None,
) -> Prediction:
    """n observations for each draw, under the conditions of the observed ones."""
    n, D = len(flat), layout.numbers
    conditions = flat[:, D:].float().repeat(len(theta), 1) if layout.condition else None
    repeated = theta.float().repeat_interleave(n, 0)
    rows, failed = simulated_rows(simulator, repeated, seed, conditions, layout, how)
    rows = rows[:, :D].double().unflatten(0, (len(theta), n))
    if layout.failures == "drop":
        whole = ~failed.unflatten(0, (len(theta), n)).any(1)
        if int(whole.sum()) < 2:
            raise ValueError(
                f"predict: {int((~whole).sum())} of {len(theta)} draws gave no whole dataset, since simulations failed."
            )
        rows, theta = rows[whole], theta[whole]
    names, statistics = _statistics(torch.cat([rows, flat[None, :, :D]]), layout.shape)
    replicated, observed = statistics[:-1], statistics[-1]
    above = (replicated >= observed).double().sum(0)
    below = (replicated <= observed).double().sum(0)
    p_values = (2 * (torch.minimum(above, below) + 1) / (len(replicated) + 1)).clamp_max(1.0)
    centre = statistics.nanmean(0)
    spread = (statistics - centre).square().nanmean(0).sqrt()
    departures = ((statistics - centre) / spread.clamp_min(1e-300)).abs().nan_to_num(0.0)[:, spread > 0]
    largest = departures.amax(1) if departures.shape[1] else torch.zeros(len(statistics))
    p_value = float((largest >= largest[-1]).double().mean())
    shape = layout.shape
    return Prediction(
        rows.unflatten(2, shape),
        flat[:, :D].unflatten(1, shape),
        theta,
        names,
        replicated,
        observed,
        p_values,
        p_value,
    )


def _statistics(x: Float[Tensor, "R n D"], shape: tuple[int, ...]) -> tuple[list[str], Float[Tensor, "R K"]]:
    """Mean and standard deviation of every number over the observations, and the share of missing ones."""
    labels = [
        "x[" + ", ".join(str(int(i)) for i in torch.unravel_index(torch.tensor(k), shape)) + "]"
        for k in range(x.shape[2])
    ]
    mean = x.nanmean(1)
    names, values = [f"mean of {label}" for label in labels], [mean]
    if x.shape[1] > 1:
        names += [f"sd of {label}" for label in labels]
        values.append((x - mean[:, None]).square().nanmean(1).sqrt())
    if not bool(x.isfinite().all()):
        names.append("share of missing numbers")
        values.append((~x.isfinite()).double().mean((1, 2))[:, None])
    return names, torch.cat(values, 1)

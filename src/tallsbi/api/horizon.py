"""Up to how many observations a posterior can be trusted: its horizon.

Errors of the scores add up with n, so a network that is right for one observation can be far too sure for a hundred.
The horizon is measured on simulated datasets with known parameters: the offsets and the coverage of
`tallsbi.metrics.calibration` for n = 1, 3, 10, 30, 100, ..., until they fail.

A posterior is trustworthy at n if, for every parameter, the root mean square z is at most 1.25 (sigma a fifth too
narrow) and at least 0.67 (half too wide, which does less harm), the mean z is within 0.5, and 50 and 90 % intervals
cover 35 to 69 and 73 to 99 %, as Gaussian ones would with a sigma off by a factor 1.5. A departure counts only if it is
not chance: 1 in 500 calibrated posteriors may be called wrong at one n, all parameters and measures together. Between
the last n that holds and the first that fails, departures are interpolated on logarithmic scales.

The datasets are nested: those of a larger n continue those of a smaller one, so `datasets` times the last n is what the
simulator is asked for. Where a width is near its bar, up to twice as many fresh datasets are added at that n.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tallsbi.api import drawing, inputs
from tallsbi.api.engine import Engine
from tallsbi.api.layout import Layout
from tallsbi.api.pool import Pool
from tallsbi.api.simulation import Calling
from tallsbi.metrics.calibration import Calibration, Departure, calibration, detectable, width_error
from tallsbi.metrics.horizon import reach, worst
from tallsbi.priors.base import Prior
from tallsbi.random import numpy_generator
from tallsbi.shapes import Observations, States

if TYPE_CHECKING:
    import pandas as pd

    from tallsbi.api.posterior import TallPosterior

DATASETS, SAMPLES, N_MAX = 100, 20, 100
HORIZON_SHARE = 0.1
"""Of the simulations of `fit`: a tenth more of them reaches n = 10 with 10,000, in a few seconds."""
_COV_SAMPLES = 40  # draws per observation behind covariances: the error of one matters less among many
_MOST_BATCHES = 3  # of datasets at one n, where a width is near its bar
_UNKNOWN_FACTOR = 2  # times the largest n measured: beyond, `sample` says that nothing is known


class BeyondHorizon(UserWarning):
    """More observations than the posterior can be trusted with, or was ever tried with."""


@dataclass(frozen=True, eq=False, repr=False)
class Horizon:
    """`measured` has the calibration at every n, from the smallest on; all but the last are trustworthy."""

    method: str
    samples: int
    simulations: int
    measured: tuple[Calibration, ...]

    @property
    def departures(self) -> list[Departure]:
        """What fails at the largest n measured, the worst first; empty: nothing was found to fail."""
        return self.measured[-1].departures

    @property
    def largest(self) -> int:
        """The largest n measured."""
        return self.measured[-1].n

    @property
    def n(self) -> int:
        """Trustworthy up to here: where the first departure passes its bar, or the largest n measured if none does.

        0: not even one observation gives a posterior that can be trusted.
        """
        return reach(self.measured)

    @property
    def answer(self) -> str:
        """The horizon and the worst departure, in words."""
        if not self.departures:
            return f"trustworthy up to n = {self.n}, the largest n measured"
        wrong = f"at n = {self.largest} {self.worst}"
        return f"trustworthy up to n = {self.n}; {wrong}" if self.n else f"not trustworthy: {wrong}"

    @property
    def worst(self) -> str:
        """The largest departure in words."""
        return worst(self.measured[-1])

    def __str__(self) -> str:
        last = self.measured[-1]
        factor, shift = detectable(last.datasets, last.dim)
        lines = [
            f"{self.method}: {self.answer}",
            f"{last.datasets} datasets per n, {self.samples} draws each, {self.simulations} simulations; they find a "
            f"sigma {width_error(factor)} and a shift of {shift:.2f} sigma four times in five",
            "    n  parameter  rms z                 mean z                50 % cover            90 % cover",
        ]
        for at_n in self.measured:
            for i in range(at_n.dim):
                estimates = [at_n.rms_z, at_n.mean_z, at_n.coverage_50, at_n.coverage_90]
                cells = "  ".join(f"{estimate.cell(i):20s}" for estimate in estimates)
                lines.append(f"{at_n.n:5d}  {i:9d}  {cells.rstrip()}")
        if any(at_n.lost for at_n in self.measured):
            lost = ", ".join(f"{at_n.lost} at n = {at_n.n}" for at_n in self.measured if at_n.lost)
            lines.append(f"datasets without finite draws, counted as failures: {lost}")
        return "\n".join(lines)

    __repr__ = __str__

    def table(self) -> pd.DataFrame:
        """All that was measured: a row per n and parameter, each measure with its 95 % interval."""
        import pandas as pd

        rows = []
        for at_n in self.measured:
            for i in range(at_n.dim):
                row: dict[str, Any] = {
                    "n": at_n.n,
                    "parameter": i,
                    "datasets": at_n.datasets,
                    "lost": at_n.lost,
                }
                for name in ("rms_z", "mean_z", "coverage_50", "coverage_90"):
                    estimate = getattr(at_n, name)
                    row |= {name: estimate.value[i]}
                    row |= {f"{name}_low": estimate.low[i], f"{name}_high": estimate.high[i]}
                rows.append(row)
        return pd.DataFrame(rows)

    def plot(self) -> Any:
        """Root mean square z and coverage against n, per parameter, with the bars; a matplotlib figure."""
        from tallsbi.api.horizon_plot import plot

        return plot(self)

    def beyond(self, n: int) -> str | None:
        """How far n is beyond the horizon, in words; None if it is not."""
        if self.departures and n > self.n:
            times = (
                f"{n / self.n:.{0 if n >= 10 * self.n else 1}f} times the horizon"
                if self.n
                else "beyond the horizon"
            )
            return (
                f"n = {n} is {times}, n = {self.n}: at n = {self.largest} {self.worst}, and errors grow with n. Train "
                "longer or on more simulations, or use fewer observations"
            )
        if n > _UNKNOWN_FACTOR * self.largest:
            return (
                f"n = {n}, but the horizon was measured up to n = {self.largest} only, where draws are calibrated; "
                f"`posterior.horizon(simulator, n_max={n})` tells whether they still are"
            )
        return None

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "measured": [at_n.to_json() for at_n in self.measured]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Horizon:
        return cls(**{**plain, "measured": tuple(map(Calibration.from_json, plain["measured"]))})


def warn_beyond(horizons: Mapping[str, Horizon], method: str, n: int) -> None:
    """Says how far n is beyond the horizon of the method, as far as it is known."""
    if method in horizons and (message := horizons[method].beyond(n)):
        warnings.warn(f"{method}: {message}.", BeyondHorizon, stacklevel=3)


def numbers(n_max: int) -> list[int]:
    """1, 3, 10, 30, ... and n_max; what is close to n_max is left out."""
    steps = (10 ** (k // 2) * (3 if k % 2 else 1) for k in count())
    return [*takewhile(lambda n: n < n_max / 1.6, steps), n_max]


def measure(
    engine: Engine,
    layout: Layout,
    source: Any,
    method: str,
    *,
    conditions: Tensor | None = None,
    n_max: int = N_MAX,
    simulations: int | None = None,
    datasets: int = DATASETS,
    n_samples: int = SAMPLES,
    settings: Mapping[str, Any] | None = None,
    clip: float = 3.0,
    seed: int = 0,
    batched: bool | None = None,
    workers: int = 1,
    how: Calling | None = None,
    progress: bool | None = None,
    device: Any = None,
    precision: str | None = None,
) -> Horizon:
    """See `TallPosterior.horizon`."""
    engine = engine.placed(device, precision)
    algorithm = inputs.algorithm(method, _with_fewer_draws(method, settings, engine.prior.dim), clip)
    how = how or Calling(batched=batched, workers=inputs.count(workers, "workers"), progress=progress)
    pool = Pool(engine.prior, layout, source, inputs.count(datasets, "datasets"), seed, conditions, how)
    n_max = min(inputs.count(n_max, "n_max"), pool.most_observations or n_max)
    if simulations is not None:
        n_max = min(n_max, inputs.count(simulations, "simulations") // datasets)
        if not n_max:
            raise ValueError(
                f"simulations = {simulations}: one observation for each of {datasets} datasets takes {datasets}; "
                "raise it, or lower `datasets`."
            )
    samples = inputs.count(n_samples, "n_samples")

    def draw(x: Observations) -> States:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # lost draws are counted
            return drawing.draw(engine, algorithm, method, x, samples, seed, progress)

    measured, spent = climb(engine.prior, pool, draw, numbers(n_max), simulations)
    return Horizon(method, samples, spent, measured)


def climb(
    prior: Prior, pool: Pool, draw: Callable[[Observations], States], steps: list[int], most: int | None
) -> tuple[tuple[Calibration, ...], int]:
    """The calibration at one n after the other, until one fails, and how many simulations it took, `most` at most."""
    measured: list[Calibration] = []
    datasets, extra = pool.datasets, 0
    for n in steps:
        if most is not None and datasets * n + extra > most:
            break
        batches, rng = [pool], numpy_generator(pool.seed, "api", "horizon", n)
        theta, draws = torch.empty(0, prior.dim), torch.empty(0)
        while True:
            x = batches[-1].observations(n)
            batch_draws = prior.to_latent(draw(x))
            theta = torch.cat([theta, prior.to_latent(batches[-1].theta)])
            draws = torch.cat([draws, batch_draws]) if len(draws) else batch_draws
            at_n = calibration(n, theta.numpy(), draws.numpy(), rng)
            # The larger n keep the simulations that they still need, unless this n is the last.
            needed = datasets * (n if at_n.departures else steps[-1]) + extra + datasets * n
            if (
                pool.most_observations
                or not at_n.near_bar
                or len(batches) == _MOST_BATCHES
                or (most is not None and needed > most)
            ):
                break
            batches.append(pool.another(n, len(batches)))
            extra += datasets * n
        measured.append(at_n)
        if at_n.departures:
            break
    return tuple(measured), 0 if pool.most_observations else datasets * measured[-1].n + extra


def checked_share(share: Any) -> float:
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise ValueError(
            f"horizon = {share!r}: give the share of `simulations` to measure it with, such as 0.1; 0: none."
        )
    return float(share)


def measure_after_fit(
    posterior: TallPosterior, source: Any, simulations: int, seed: int, how: Calling
) -> None:
    """The horizon at the end of a fit, if there is a simulator and enough to ask it for.

    Whatever fails here, the network is trained and must not be lost.
    """
    if not callable(source) or simulations < DATASETS:
        return
    try:
        posterior.horizon(source, simulations=simulations, seed=seed, how=how, progress=how.progress)
    except Exception as error:
        warnings.warn(
            f"the horizon could not be measured ({type(error).__name__}: {error}); the posterior is fitted. Call "
            "`posterior.horizon(simulator)` when that is mended, or `fit` with horizon=0.",
            stacklevel=3,
        )


def _with_fewer_draws(method: str, settings: Any, dim: int) -> Any:
    """The settings with fewer draws behind covariances, unless they say how many."""
    default = getattr(inputs.algorithm(method, None, 3.0), "cov_samples", None)
    if default is None or not isinstance(settings, (Mapping, type(None))):
        return settings
    return {"cov_samples": min(default, max(_COV_SAMPLES, 4 * dim)), **(settings or {})}

"""Is a tall posterior calibrated? How far it is off, simulation-based calibration (SBC, from `sbi`), and l-C2ST.

All take N pairs (theta_i, dataset i of n observations of theta_i) and the posterior's draws for each dataset. Direction
and size come from the offsets of theta_i from the draws (`tallsbi.metrics.calibration`). SBC ranks theta_i among the
draws: uniform ranks mean that credible intervals cover what they promise, on average over the prior. l-C2ST asks at
one observed dataset whether a classifier can tell draws from parameters (see `tallsbi.metrics.lc2st`). With many
observations the classifier often learns nothing. So the same test is tried on draws that are shifted by a standard
deviation on purpose, and the report says so where it does not notice.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api import drawing, extras, inputs, pool
from tallsbi.api.failures import advice
from tallsbi.api.inputs import METHOD
from tallsbi.api.simulation import Calling
from tallsbi.metrics.calibration import Calibration, detectable, width_error
from tallsbi.metrics.calibration import calibration as offsets_and_coverage
from tallsbi.metrics.lc2st import LocalTest, local_statistic, local_test
from tallsbi.metrics.tarp import credibilities, uniformity
from tallsbi.priors.base import Prior
from tallsbi.random import integer_seed, numpy_generator, torch_generator

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior

_SIGNIFICANCE = 0.05
_MIN_DATASETS = 3
_CONCLUSIVE_DATASETS = 100  # datasets from which on tests that do not reject say something
_POWER_SHIFT = 1.0  # standard deviations, up and down: shifted draws show whether l-C2ST has any power
_C2ST_MARGIN = 0.1  # a C2ST this far from one half, and three standard errors, is not chance


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What the tests found, for n observations per dataset.

    `ranks`: of each true parameter among the draws, 0 ... samples. `ks_p_values`: Kolmogorov-Smirnov, one per
    coordinate; small means that the ranks are not uniform. `c2st_prior`: accuracy of a classifier that tells draws,
    one per dataset, from the prior, coordinate by coordinate; they have the same law, so 0.5 is good. `local`: l-C2ST
    at the observed dataset, None where none was given; `local_power`: of draws shifted by a standard deviation, down
    and up, the share that it rejects. `size`: how far the draws are off, and in which direction. `tarp`: credibilities
    of balls through the true parameters, which see all coordinates at once (`tallsbi.metrics.tarp`).
    """

    n: int
    method: str
    samples: int
    ranks: Float[np.ndarray, "N m"]
    ks_p_values: Float[np.ndarray, "m"]
    c2st_prior: Float[np.ndarray, "m"]
    size: Calibration
    local: LocalTest | None = None
    local_power: float = np.nan
    tarp: Float[np.ndarray, "N"] | None = None
    names: tuple[str, ...] = ()

    @property
    def tarp_p_value(self) -> float:
        """Of uniform credibilities; NaN where there are none."""
        return np.nan if self.tarp is None else uniformity(self.tarp)

    def plot(self) -> Any:
        """Histograms of ranks, coverage of intervals and TARP: a figure of matplotlib."""
        from tallsbi.api.plots import diagnosis_plot

        return diagnosis_plot(self, self.names or [f"theta_{i}" for i in range(self.ranks.shape[1])])

    @property
    def local_p_value(self) -> float:
        """Of l-C2ST, averaged over the classifiers: the share of permutations that look no better, the data among
        them, so that it is never 0. NaN where there was no local test."""
        if self.local is None:
            return np.nan
        permutations = len(self.local.null)
        return float(((self.local.p_values * permutations + 1) / (permutations + 1)).mean())

    @property
    def calibrated(self) -> bool:
        """No test rejects at 5 per cent, divided by the number of tests, nothing is beyond its bar (see
        `tallsbi.api.horizon`), and draws are spread like the prior."""
        p_values = [*self.ks_p_values, *([self.local_p_value] if self.local is not None else [])]
        p_values += [] if self.tarp is None else [self.tarp_p_value]
        margin = max(_C2ST_MARGIN, 3 * np.sqrt(0.25 / (2 * len(self.ranks))))
        passed = min(p_values) >= _SIGNIFICANCE / len(p_values) and self.c2st_prior.max() <= 0.5 + margin
        return bool(passed and not self.size.departures)

    def __str__(self) -> str:
        lines = [
            f"{self.method}, n = {self.n}, {len(self.ranks)} datasets with {self.samples} draws each",
            "coordinate   p-value of ranks   C2ST to prior   rms z               mean z               50 %   90 %",
        ]
        size = self.size
        for i, (p, c) in enumerate(zip(self.ks_p_values, self.c2st_prior, strict=True)):
            shares = f"{size.coverage_50.value[i]:4.2f}   {size.coverage_90.value[i]:4.2f}"
            width, shift = size.rms_z.cell(i), size.mean_z.cell(i)
            lines.append(f"{i:10d}   {p:16.3f}   {c:13.3f}   {width:17s}   {shift:18s}   {shares}")
        lines += [f"coordinate {departure.coordinate}: {departure}" for departure in size.departures]
        if self.local is not None:
            statistic = self.local.statistics.mean()
            lines.append(
                f"l-C2ST at the observed dataset: statistic {statistic:.4f}, p-value {self.local_p_value:.3f}"
            )
            if self.local_power < 1:
                lines.append(
                    "l-C2ST has no power here: it does not reject draws shifted by a standard deviation either, so its "
                    "p-value says nothing; raise `datasets`, or trust the sizes above"
                )
        if self.tarp is not None:
            lines.append(f"TARP, all coordinates at once: p-value {self.tarp_p_value:.3f}")
        factor, shift_found = detectable(size.datasets, size.dim)
        lines.append(
            f"power: {size.datasets} datasets find a sigma {width_error(factor)}, or a shift of {shift_found:.2f} "
            "sigma, four times in five"
        )
        if not self.calibrated:
            lines.append("NOT calibrated: " + ("beyond the bars" if size.departures else "a test rejects"))
        elif len(self.ranks) < _CONCLUSIVE_DATASETS:
            lines.append(
                f"no test rejects, but {len(self.ranks)} datasets are too few to tell; use "
                f"{_CONCLUSIVE_DATASETS} or more"
            )
        else:
            lines.append("no test rejects")
        return "\n".join(lines)

    __repr__ = __str__


class _Draws:
    """The draws in the form sbi's `run_sbc` asks a posterior for."""

    def __init__(self, theta: Float[Tensor, "N S m"]) -> None:
        self.theta = theta

    def sample_batched(self, shape: tuple[int, ...], *, x: Tensor, show_progress_bars: bool) -> Tensor:
        return self.theta.transpose(0, 1)


@dataclass(frozen=True, eq=False)
class LocalSettings:
    """Where l-C2ST looks, with the draws there, and with how many classifiers and permutations."""

    theta: Float[Tensor, "S m"]
    x: Float[Tensor, "n d"]
    classifiers: int
    permutations: int


def diagnose(
    self: TallPosterior,
    source: Any,
    n: int,
    x_obs: Any = None,
    *,
    datasets: int = 200,
    n_samples: int = 100,
    method: str = METHOD,
    settings: Mapping[str, Any] | None = None,
    clip: float = 3.0,
    classifiers: int = 1,
    permutations: int = 50,
    seed: int = 0,
    batched: bool | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Diagnosis:
    """Simulation-based calibration of the posterior of n observations; with `x_obs` [n, d] also l-C2ST there.

    `source`: the simulator, called with `datasets` draws of the prior, n times each; or a pair
    (theta [N, m], x [N, n, d]). `n_samples`: draws per dataset. `classifiers` and `permutations` are
    those of l-C2ST; its p-value is at least 1 / (permutations + 1). `batched`, `workers`: as those of `fit`.
    """
    extras.require("diagnose", "sbi", "sklearn")
    n = inputs.count(n, "n")
    algorithm = inputs.algorithm(method, settings, clip)
    how = Calling(batched=batched, workers=inputs.count(workers, "workers"), progress=progress)
    count = inputs.count(datasets, "datasets")
    theta, x = pool.calibration_pairs(self.prior, self.layout, source, n, count, seed, self.conditions, how)
    observed = None if x_obs is None else self.layout.one_dataset(x_obs, n)
    samples = inputs.count(n_samples, "n_samples")
    drawn = drawing.draw(self.engine, algorithm, method, x, samples, seed, progress)
    local = None
    if observed is not None:
        local_samples = max(samples, 1000)
        draws = drawing.draw(self.engine, algorithm, method, observed, local_samples, seed, progress)
        local = LocalSettings(
            draws[0],
            observed[0],
            inputs.count(classifiers, "classifiers"),
            inputs.count(permutations, "permutations"),
        )
    return diagnosed(method, theta, x, drawn, local, seed, self.prior, self.names_of())


def diagnosed(
    method: str,
    theta: Float[Tensor, "N m"],
    x: Float[Tensor, "N n d"],
    drawn: Float[Tensor, "N S m"],
    local: LocalSettings | None,
    seed: int,
    prior: Prior,
    names: Sequence[str] = (),
) -> Diagnosis:
    """All tests, on the datasets whose draws are finite."""
    usable = drawn.isfinite().all(-1).all(-1)
    if int(usable.sum()) < _MIN_DATASETS:
        raise ValueError(
            f"{method} gave finite draws for {int(usable.sum())} of {len(x)} datasets, and a diagnosis needs "
            f"{_MIN_DATASETS}; raise `datasets`, or, if draws were lost, {advice(method)}."
        )
    theta, x, drawn = theta[usable], x[usable], drawn[usable]
    ranks, p_values, c2st_prior = rank_tests(theta, x, drawn, seed)
    latent = prior.to_latent(theta).numpy(), prior.to_latent(drawn).numpy()
    size = offsets_and_coverage(x.shape[1], *latent, numpy_generator(seed, "api", "diagnosis"))
    tarp = credibilities(theta, drawn, torch_generator(seed, "api", "tarp"))
    diagnosis = Diagnosis(
        x.shape[1], method, drawn.shape[1], ranks, p_values, c2st_prior, size, tarp=tarp, names=tuple(names)
    )
    return diagnosis if local is None else replace(diagnosis, **local_tests(theta, x, drawn, local))


def rank_tests(
    theta: Float[Tensor, "N m"], x: Float[Tensor, "N n d"], drawn: Float[Tensor, "N S m"], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks [N, m], the p-value of their uniformity [m], and the C2ST of the draws to the prior [m]."""
    # Not all of `check_sbc`: one of its C2STs tells integer ranks from continuous ones, whatever the posterior.
    from sbi.diagnostics.sbc import check_prior_vs_dap, check_uniformity_frequentist, run_sbc

    samples = drawn.shape[1]
    # sbi's classifiers draw from torch's global stream.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"sklearn\..*")
        torch.manual_seed(integer_seed(seed, "api", "sbc"))
        ranks, averaged = run_sbc(
            theta, x.flatten(1), _Draws(drawn), num_posterior_samples=samples, show_progress_bar=False
        )
        p_values = check_uniformity_frequentist(ranks, samples)
        c2st_prior = check_prior_vs_dap(theta, averaged)
    return ranks.numpy(), p_values.numpy(), c2st_prior.numpy()


def local_tests(
    theta: Float[Tensor, "N m"],
    x: Float[Tensor, "N n d"],
    drawn: Float[Tensor, "N S m"],
    local: LocalSettings,
) -> dict[str, Any]:
    """l-C2ST, on standardised parameters and observations, and its power."""
    mean, std = x.mean((0, 1)), x.std((0, 1))
    std = torch.where(std > 0, std, 1.0)
    centre, spread = theta.mean(0), theta.std(0)

    def parameters(values: Tensor) -> Tensor:
        return ((values - centre) / spread).float()

    pairs = parameters(theta), parameters(drawn[:, 0]), ((x - mean) / std).flatten(1).float()
    observed = parameters(local.theta), ((local.x - mean) / std).flatten().float()
    test = local_test(*pairs, *observed, classifiers=local.classifiers, permutations=local.permutations)
    rejected = []
    for shift in (-_POWER_SHIFT, _POWER_SHIFT):
        shifted = (
            parameters(drawn[:, 0] + shift * drawn.std(1)),
            parameters(local.theta + shift * local.theta.std(0)),
        )
        statistic = local_statistic(pairs[0], shifted[0], pairs[2], shifted[1], observed[1])
        rejected.append(statistic > np.quantile(test.null, 1 - _SIGNIFICANCE))
    return {"local": test, "local_power": float(np.mean(rejected))}

"""Is a tall posterior calibrated? Simulation-based calibration and l-C2ST, both through `sbi`.

Both take N pairs (theta_i, dataset i of n observations of theta_i) and the posterior's draws for each dataset. SBC
ranks theta_i among them: uniform ranks mean that credible intervals cover what they promise, on average over the
prior. l-C2ST asks at one observed dataset whether a classifier can tell draws from parameters (see
`tallsbi.metrics.lc2st`).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.api.failures import advice
from tallsbi.metrics.lc2st import LocalTest, local_test
from tallsbi.metrics.tarp import credibilities, uniformity
from tallsbi.random import integer_seed, torch_generator

_SIGNIFICANCE = 0.05
_MIN_DATASETS = 3
_CONCLUSIVE_DATASETS = 100  # datasets from which on tests that do not reject say something
_C2ST_MARGIN = 0.1  # a C2ST this far from one half, and three standard errors, is no chance


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What the tests found, for n observations per dataset.

    `ranks`: of each true parameter among the draws, 0 ... samples. `ks_p_values`: Kolmogorov-Smirnov, one per
    coordinate; small means that the ranks are not uniform. `c2st_prior`: accuracy of a classifier that tells draws,
    one per dataset, from the prior, coordinate by coordinate; they have the same law, so 0.5 is good. `local`: l-C2ST
    at the observed dataset, None where none was given. `tarp`: credibilities of balls through the true parameters,
    which see all coordinates at once (`tallsbi.metrics.tarp`).
    """

    n: int
    method: str
    samples: int
    ranks: Float[np.ndarray, "N m"]
    ks_p_values: Float[np.ndarray, "m"]
    c2st_prior: Float[np.ndarray, "m"]
    local: LocalTest | None = None
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
        """No test rejects at 5 per cent, divided by the number of tests, and draws are spread like the prior."""
        p_values = [*self.ks_p_values, *([self.local_p_value] if self.local is not None else [])]
        p_values += [] if self.tarp is None else [self.tarp_p_value]
        chance = max(_C2ST_MARGIN, 3 * np.sqrt(0.25 / (2 * len(self.ranks))))
        return bool(min(p_values) >= _SIGNIFICANCE / len(p_values) and self.c2st_prior.max() <= 0.5 + chance)

    def __str__(self) -> str:
        lines = [
            f"{self.method}, n = {self.n}, {len(self.ranks)} datasets with {self.samples} draws each",
            "coordinate   p-value of ranks   C2ST to prior",
        ]
        rows = zip(self.ks_p_values, self.c2st_prior, strict=True)
        lines += [f"{i:10d}   {p:16.3f}   {c:13.3f}" for i, (p, c) in enumerate(rows)]
        if self.local is not None:
            statistic = self.local.statistics.mean()
            lines.append(
                f"l-C2ST at the observed dataset: statistic {statistic:.4f}, p-value {self.local_p_value:.3f}"
            )
        if self.tarp is not None:
            lines.append(f"TARP, all coordinates at once: p-value {self.tarp_p_value:.3f}")
        if not self.calibrated:
            lines.append("NOT calibrated: a test rejects")
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


def diagnosed(
    method: str,
    theta: Float[Tensor, "N m"],
    x: Float[Tensor, "N n d"],
    drawn: Float[Tensor, "N S m"],
    local: LocalSettings | None,
    seed: int,
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
    ranks, p_values, to_prior = calibration(theta, x, drawn, seed)
    at_observed = None if local is None else local_calibration(theta, x, drawn[:, 0], local)
    balls = credibilities(theta, drawn, torch_generator(seed, "api", "tarp"))
    return Diagnosis(
        x.shape[1], method, drawn.shape[1], ranks, p_values, to_prior, at_observed, balls, tuple(names)
    )


def calibration(
    theta: Float[Tensor, "N m"], x: Float[Tensor, "N n d"], drawn: Float[Tensor, "N S m"], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks [N, m], the p-value of their uniformity [m], and the C2ST of the draws to the prior [m]."""
    # Not all of `check_sbc`: its C2ST tells whole ranks from continuous ones, whatever the posterior.
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
        to_prior = check_prior_vs_dap(theta, averaged)
    return ranks.numpy(), p_values.numpy(), to_prior.numpy()


def local_calibration(
    theta: Float[Tensor, "N m"], x: Float[Tensor, "N n d"], drawn: Float[Tensor, "N m"], local: LocalSettings
) -> LocalTest:
    """l-C2ST, on standardised parameters and observations."""
    mean, std = x.mean((0, 1)), x.std((0, 1))
    std = torch.where(std > 0, std, 1.0)
    centre, spread = theta.mean(0), theta.std(0)

    def parameters(values: Tensor) -> Tensor:
        return ((values - centre) / spread).float()

    return local_test(
        parameters(theta),
        parameters(drawn),
        ((x - mean) / std).flatten(1).float(),
        parameters(local.theta),
        ((local.x - mean) / std).flatten().float(),
        classifiers=local.classifiers,
        permutations=local.permutations,
    )

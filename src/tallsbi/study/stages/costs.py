"""One dataset sampled by itself, with what it costs: seconds, and how far the process's memory grows.

Linux keeps the largest resident set of a process (VmHWM) and starts it anew when asked to; the growth is that
maximum less what was resident before. Where the system does not offer this the growth is NaN.
"""

from __future__ import annotations

import ctypes
import gc
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.algorithms.base import Algorithm
from tallsbi.api.engine import NetworkEngine
from tallsbi.metrics.sliced import baseline, sliced_wasserstein
from tallsbi.random import integer_seed, numpy_generator

Result = TypeVar("Result")
_START_ANEW = "5"  # written to clear_refs: the peak becomes what is resident now


@dataclass(frozen=True, eq=False)
class Run:
    """Draws [S, m] of one tall posterior, and the seconds they took."""

    theta: Float[np.ndarray, "S m"]
    seconds: float

    @property
    def finite_share(self) -> float:
        return float(np.isfinite(self.theta).all(-1).mean())


def solve(
    posterior: NetworkEngine,
    algorithm: Algorithm,
    x: Float[np.ndarray, "n d"],
    samples: int,
    generator: torch.Generator,
) -> Run:
    """The posterior of one dataset, all that an algorithm does for it included (GAUSS: its covariance runs)."""
    start = time.perf_counter()
    theta = posterior.sample(algorithm, torch.from_numpy(x)[None], samples, [generator]).theta[0].numpy()
    return Run(theta, time.perf_counter() - start)


def peak_growth(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of `work`, and by how many MiB the process's peak memory rose meanwhile (NaN: unknown)."""
    gc.collect()
    _return_free_memory()
    measured = _restart_peak()
    before = _status("VmRSS")
    result = work()
    return result, max(_status("VmHWM") - before, 0.0) / 2**10 if measured else np.nan


def _return_free_memory() -> None:
    """Free memory that the allocator holds back counts as resident, and would hide what `work` needs."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _restart_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text(_START_ANEW)
    except OSError:
        return False
    return not np.isnan(_status("VmHWM") + _status("VmRSS"))


def _status(field: str) -> float:
    """A field of the process's status, in KiB."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return np.nan
    found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    return float(found[1]) if found else np.nan


def distance(
    theta: Float[np.ndarray, "S m"],
    reference: Float[np.ndarray, "R m"],
    metrics: Mapping[str, Any],
    seed: int,
    name: tuple[str | int, ...],
) -> float:
    """sW to as many reference draws as there are samples; NaN for a run that diverged.

    `name` names the directions: the same for all methods, so that differences are not due to them.
    """
    size = min(len(theta), len(reference))
    directions = integer_seed(seed, *name, "directions") % 2**32
    sw, _ = sliced_wasserstein(theta[:size], reference[:size], metrics["projections"], directions)
    return sw


def self_distance(
    reference: Float[np.ndarray, "R m"],
    samples: int,
    metrics: Mapping[str, Any],
    seed: int,
    name: tuple[str | int, ...],
) -> float:
    """sW of two disjoint sets of `samples` reference draws: what an exact sampler has. NaN if there are too few."""
    if len(reference) < 2 * samples:
        return np.nan
    rng = numpy_generator(seed, *name, "self-distance")
    return baseline(reference, samples, metrics["self_distances"], metrics["projections"], rng)[0]


def check_sizes(study: str, plan: Mapping[str, Any], sets: int, observations: int) -> None:
    """Whether the observations suffice for the configured sets and n."""
    if plan["sets"] > sets:
        raise ValueError(
            f"sbibm.{study}.sets = {plan['sets']}: there are observations of {sets} parameter sets; "
            "lower it, or raise sbibm.sets."
        )
    if max(plan["n_obs"]) > observations:
        raise ValueError(
            f"sbibm.{study}.n_obs = {list(plan['n_obs'])}: there are {observations} observations per set; "
            "lower it, or raise sbibm.observations."
        )

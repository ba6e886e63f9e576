"""Reference posteriors of the benchmark tasks (section 4.2 of the paper), each with its certificate.

What is exact is used where it exists: the closed form of a Gaussian posterior, the components of a mixture,
a grid in two dimensions. NUTS does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.priors import Uniform
from tallsbi.references import grid, mixture, nuts
from tallsbi.references.record import SETTINGS, Draws, Record, Request
from tallsbi.references.standardised import coordinates, first_observations, prior_map, weighted_likelihood
from tallsbi.tasks.base import Task, use_float64

if TYPE_CHECKING:
    import xarray as xr

WINDOW = 6.0
_MAX_MISSED = 1e-3
_BLOCK = 4096


def reference_posterior(
    task: Task,
    x: Float[np.ndarray, "B N d"],
    n: int,
    samples: int,
    settings: Mapping[str, Any],
    seed: int,
    progress: Callable[..., Iterable[Any]],
    first_set: int = 0,
) -> xr.Dataset:
    """`samples` draws of the posterior given the first n observations of every dataset, with certificates.

    Pass all N observations for every n: compiled functions then serve them all. `settings` has the keys of
    `record.SETTINGS`, `progress(items, label=...)` reports the loop over the sets, and `first_set` is the number
    of the first dataset among all, which names its random stream.
    """
    import xarray as xr

    request = Request(task, x, n, samples, settings, seed, first_set, progress)
    draws = _method(request)(request)
    certificates = {
        field.name: ("set", np.array([getattr(record, field.name) for _, record in draws]))
        for field in fields(Record)
    }
    return xr.Dataset(
        {"theta": (("set", "sample", "parameter"), np.stack([theta for theta, _ in draws])), **certificates},
        coords={"set": first_set + np.arange(len(x)), "parameter": list(task.parameter_names)},
        attrs={
            "task": task.name,
            "n": n,
            "seed": seed,
            "stream": f"reference, {task.name}, {n}, set",
            **{f"setting_{key}": settings[key] for key in SETTINGS},
        },
    )


def _method(request: Request) -> Callable[[Request], list[Draws]]:
    task = request.task
    if task.closed_form(request.x[0, : request.n]) is not None:
        return _closed_form
    if mixture.component_stds(task) is not None:
        return _mixture
    return on_grid if task.dim_theta == 2 else nuts.certified_draws


def _closed_form(request: Request) -> list[Draws]:
    output = []
    for b, data in enumerate(request.x[:, : request.n]):
        mean, cov = request.task.closed_form(data)
        z = request.rng(b).standard_normal((request.samples, request.task.dim_theta))
        output.append((mean + z @ np.linalg.cholesky(cov).T, Record("closed form", True)))
    return output


def _mixture(request: Request) -> list[Draws]:
    method = "enumeration" if request.n <= mixture.ENUMERATE else "components"
    output = []
    for b in request.each(range(len(request.x))):
        data = request.x[b, : request.n]
        theta, missed = mixture.sample(request.task, data, request.samples, request.rng(b))
        output.append((theta, Record(method, missed <= _MAX_MISSED, missed=missed)))
    return output


def on_grid(request: Request) -> list[Draws]:
    """Draws of two-dimensional posteriors."""
    evaluate, to_parameter, low, high, closed = _plane(request.task)
    x, weight = first_observations(request.x, request.n)
    output = []
    for b in request.each(range(len(x))):
        density = lambda points, b=b: evaluate(points, (x[b], weight[b]))  # noqa: E731
        table = grid.tabulate(density, low, high, closed=closed)
        points, excess = grid.draw(table, density, request.samples, request.rng(b))
        limits = grid.LIMITS
        record = Record(
            "grid",
            table.resolved() and table.border <= limits.border and excess <= limits.excess,
            cells=table.effective_cells,
            cells_per_sd=table.cells_per_sd,
            border=table.border,
            disagreement=table.disagreement,
            missed=excess,
        )
        output.append((to_parameter(points), record))
    return output


@lru_cache(maxsize=4)
def _plane(task: Task) -> tuple[Any, Any, np.ndarray, np.ndarray, bool]:
    """Log density (points [N, 2], data) and map to theta (points), lower and upper corner, whether closed.

    The plane of a uniform prior is theta itself on the prior's box, that of others the coordinates z of
    `standardised`, in which the prior's mass beyond `WINDOW` is below 1e-8.
    """
    use_float64()
    import jax

    if isinstance(task.prior, Uniform):
        low, high = (bound.to(torch.float64).numpy() for bound in task.prior.support())
        density, to_parameter, closed = weighted_likelihood(task), lambda point: point, True
    else:
        low, high = np.full(2, -WINDOW), np.full(2, WINDOW)
        density, to_parameter, closed = coordinates(task).log_density, prior_map(task), False
    compiled = jax.jit(jax.vmap(density, (0, None)))

    def evaluate(points: np.ndarray, data: Any) -> np.ndarray:
        # Blocks of one size: one compilation, whatever the number of points.
        blocks = -(-len(points) // _BLOCK)
        filled = np.concatenate([points, np.repeat(points[:1], blocks * _BLOCK - len(points), 0)])
        values = [np.asarray(compiled(block, data)) for block in np.split(filled, blocks)]
        return np.concatenate(values)[: len(points)]

    return evaluate, lambda points: np.asarray(jax.vmap(to_parameter)(points)), low, high, closed


@dataclass(frozen=True)
class Agreement:
    """How a reference posterior of this package compares with the one that sbibm ships."""

    observation: int
    c2st: float
    """0.5 if a classifier cannot tell them apart."""
    ks: float
    """Largest Kolmogorov-Smirnov distance among the marginals."""
    certified: bool


def check_against_sbibm(
    name: str,
    observations: Sequence[int] = range(1, 11),
    *,
    settings: Mapping[str, Any],
    samples: int = 1000,
    seed: int = 1,
    progress: Callable[..., Iterable[Any]],
) -> list[Agreement]:
    """Our reference draws for sbibm's observations (n = 1) against as many of those it ships."""
    from scipy.stats import ks_2samp

    from tallsbi.metrics.c2st import c2st
    from tallsbi.tasks import load

    task = load(name)
    shipped = [_shipped(name, number, task) for number in observations]
    data = reference_posterior(
        task, np.stack([x for x, _ in shipped])[:, None], 1, samples, settings, seed, progress
    )
    pairs = [
        # As many as ours, evenly out of all: some of them are Markov chains.
        (ours, theirs[np.linspace(0, len(theirs) - 1, samples).astype(int)])
        for ours, (_, theirs) in zip(data.theta.values, shipped, strict=True)
    ]
    values = c2st(pairs, seed=1)
    return [
        Agreement(number, float(value), max(ks_2samp(*column).statistic for column in columns), bool(passed))
        for number, value, passed, columns in zip(
            observations,
            values,
            data.passed.values,
            [list(zip(ours.T, theirs.T, strict=True)) for ours, theirs in pairs],
            strict=True,
        )
    ]


def _shipped(name: str, number: int, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """sbibm's observation [d] and reference draws [R, m], read from its files: some of its tasks need Julia."""
    import pandas as pd
    import sbibm

    folder = Path(sbibm.__file__).parent / "tasks" / name.removesuffix("_raw") / "files"
    if not folder.exists():
        raise ValueError(
            f"sbibm ships no reference posterior for {name!r}: it has no folder {folder.parent.name!r}."
        )
    raw = "_raw" if name.endswith("_raw") else ""
    files = folder / f"num_observation_{number}"
    x = pd.read_csv(files / f"observation{raw}.csv").to_numpy(np.float64)[0]
    theta = pd.read_csv(files / "reference_posterior_samples.csv.bz2").to_numpy(np.float64)
    if (len(x), theta.shape[1]) != (task.dim_x, task.dim_theta):
        raise ValueError(
            f"{name}: sbibm's observation {number} has shape {x.shape} and its draws {theta.shape}; expected "
            f"d = {task.dim_x} and m = {task.dim_theta}."
        )
    return x, theta

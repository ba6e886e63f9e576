"""Reference posteriors of the sbibm tasks (section 4.2 of the paper), each with its certificate.

Exact methods are used where there is one: the closed form of a Gaussian posterior, the components of a mixture, a grid
in two dimensions. NUTS does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from tallsbi.study.references import grid, mixture, nuts
from tallsbi.study.references.certificate import Certificate, Check, pack
from tallsbi.study.references.request import Draws, Request
from tallsbi.study.references.standardised import (
    coordinates,
    first_observations,
    prior_map,
    weighted_likelihood,
)
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.tasks.base import Task, use_float64

if TYPE_CHECKING:
    import xarray as xr

WINDOW = 6.0
_MAX_MISSED = 1e-3
_BLOCK_POINTS = 4096


def reference_posterior(
    task: Task,
    x: Float[np.ndarray, "B N d"],
    n: int,
    samples: int,
    settings: ChainSettings,
    seed: int,
    progress: Callable[..., Iterable[Any]],
    first_set: int = 0,
) -> xr.Dataset:
    """`samples` draws of the posterior given the first n observations of every dataset, with certificates.

    Pass all N observations for every n: compiled functions then serve them all. `settings` are those of NUTS,
    `progress(items, label=...)` reports the loop over the sets, and `first_set` is the number of the first dataset
    in the study, which names its random stream.
    """
    import xarray as xr

    request = Request(task, x, n, samples, settings, seed, first_set, progress)
    draws = _method(request)(request)
    return xr.Dataset(
        {
            "theta": (("set", "sample", "parameter"), np.stack([theta for theta, _ in draws])),
            **pack([certificate for _, certificate in draws], ("set",)),
        },
        coords={"set": first_set + np.arange(len(x)), "parameter": list(task.parameter_names)},
        attrs={
            "task": task.name,
            "n": n,
            "seed": seed,
            "stream": f"reference, {task.name}, {n}, set",
            **{f"setting_{key}": value for key, value in settings.as_params().items()},
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
        output.append((mean + z @ np.linalg.cholesky(cov).T, Certificate("closed form")))
    return output


def _mixture(request: Request) -> list[Draws]:
    method = "enumeration" if request.n <= mixture.MAX_ENUMERATED else "components"
    output = []
    for b in request.with_progress(range(len(request.x))):
        data = request.x[b, : request.n]
        theta, missed = mixture.sample(request.task, data, request.samples, request.rng(b))
        output.append((theta, Certificate(method, (Check("missed", (missed,), at_most=_MAX_MISSED),))))
    return output


def on_grid(request: Request) -> list[Draws]:
    """Draws of two-dimensional posteriors."""
    evaluate, to_parameter, low, high, closed = _plane(request.task)
    x, weight = first_observations(request.x, request.n)
    output = []
    for b in request.with_progress(range(len(x))):
        density = lambda points, b=b: evaluate(points, (x[b], weight[b]))  # noqa: E731
        table = grid.tabulate(density, low, high, closed=closed)
        points, excess = grid.draw(table, density, request.samples, request.rng(b))
        output.append((to_parameter(points), Certificate("grid", table.checks(excess))))
    return output


@lru_cache(maxsize=4)
def _plane(task: Task) -> tuple[Any, Any, np.ndarray, np.ndarray, bool]:
    """Log density of (points [N, 2], data), map from points to theta, lower and upper corner, whether closed.

    The plane of a uniform prior is theta itself on the prior's box, that of others the coordinates z of
    `standardised`, in which the prior's mass beyond `WINDOW` is below 1e-8.
    """
    use_float64()
    import jax

    box = task.prior.support()
    if box is not None:
        low, high = (bound.to(torch.float64).numpy() for bound in box)
        density, to_parameter, closed = weighted_likelihood(task), lambda point: point, True
    else:
        low, high = np.full(2, -WINDOW), np.full(2, WINDOW)
        density, to_parameter, closed = coordinates(task).log_density, prior_map(task), False
    compiled = jax.jit(jax.vmap(density, (0, None)))

    def evaluate(points: np.ndarray, data: Any) -> np.ndarray:
        # Blocks of one size: one compilation, whatever the number of points.
        blocks = -(-len(points) // _BLOCK_POINTS)
        filled = np.concatenate([points, np.repeat(points[:1], blocks * _BLOCK_POINTS - len(points), 0)])
        values = [np.asarray(compiled(block, data)) for block in np.split(filled, blocks)]
        return np.concatenate(values)[: len(points)]

    return evaluate, lambda points: np.asarray(jax.vmap(to_parameter)(points)), low, high, closed

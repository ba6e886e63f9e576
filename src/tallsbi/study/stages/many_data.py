"""Observations and references of the study of many observations: they are used there alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tallsbi.random import integer_seed
from tallsbi.study.settings.chains import ChainSettings
from tallsbi.study.stages import data
from tallsbi.study.tasks import load

if TYPE_CHECKING:
    import xarray as xr


def observations(name: str, sets: int, count: int, seed: int) -> xr.Dataset:
    """`count` observations of the first parameter sets, others than those of the benchmark."""
    return data.observations(name, sets, count, integer_seed(seed, "many"))


def references(
    name: str,
    x: Float[np.ndarray, "B N d"],
    n_obs: Iterable[int],
    samples: int,
    settings: ChainSettings,
    seed: int,
    progress: Callable[..., Iterable[Any]],
) -> xr.Dataset:
    """Twice `samples` reference draws [n, set, sample, parameter], to have a distance of the reference to itself.

    `settings` are those of `tallsbi.study.references.sbibm.reference_posterior`.
    """
    import xarray as xr

    from tallsbi.study.references.sbibm import reference_posterior

    task, stream = load(name), integer_seed(seed, "many")
    parts = [
        reference_posterior(task, x, n, 2 * samples, settings, stream, progress)[["theta", "passed"]]
        for n in n_obs
    ]
    both = xr.concat([part.drop_attrs() for part in parts], dim="n").assign_coords(n=list(n_obs))
    return both.assign_attrs(task=name)

"""Observations and references of the study of many observations: they are used there alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tallsbi.random import integer_seed
from tallsbi.study.references.sbibm import reference_posterior
from tallsbi.study.settings.time import ManySettings
from tallsbi.study.stages.simulate import observations
from tallsbi.study.tasks import simulator

if TYPE_CHECKING:
    import xarray as xr


def many_observations(settings: ManySettings) -> xr.Dataset:
    """As many observations of the first parameter sets as the largest n, others than those that `observe` makes."""
    task, seed = simulator(settings.problem), integer_seed(settings.seed, "many")
    return observations(task, settings.sets, max(settings.n_obs), seed)


def many_references(
    settings: ManySettings, observed: xr.Dataset, progress: Callable[..., Iterable[Any]]
) -> xr.Dataset:
    """Twice `samples` reference draws [n, set, sample, parameter], to have a distance of the reference to itself."""
    import xarray as xr

    task, seed = simulator(settings.problem), integer_seed(settings.seed, "many")
    x, samples = observed["x"].values, 2 * settings.samples
    references = [
        reference_posterior(task, x, n, samples, settings.chains, seed, progress)[["theta", "passed"]]
        for n in settings.n_obs
    ]
    joined = xr.concat([reference.drop_attrs() for reference in references], dim="n")
    return joined.assign_coords(n=list(settings.n_obs)).assign_attrs(task=task.name)

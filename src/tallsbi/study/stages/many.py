"""Observations and references of the study of many observations: they are used there alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
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
    twice = replace(settings, seed=integer_seed(settings.seed, "many"), samples=2 * settings.samples)
    references = references_at_every_n(twice, observed, progress)[["theta", "passed"]]
    return references.drop_attrs().assign_attrs(task=simulator(settings.problem).name)


def references_at_every_n(
    settings: ManySettings, observed: xr.Dataset, progress: Callable[..., Iterable[Any]]
) -> xr.Dataset:
    """Reference draws [n, set, sample, parameter] with their certificates, of a stream that the seed names."""
    import xarray as xr

    task, x = simulator(settings.problem), observed["x"].values
    by_n = [
        reference_posterior(task, x, n, settings.samples, settings.chains, settings.seed, progress)
        for n in settings.n_obs
    ]
    return xr.concat(by_n, dim="n", combine_attrs="drop_conflicts").assign_coords(n=list(settings.n_obs))

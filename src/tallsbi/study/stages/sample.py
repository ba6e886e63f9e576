"""Draws of tall posteriors with a trained network, for sbibm tasks and the Jansen-Rit problem alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING

import torch

from tallsbi.algorithms import CLIP_SUFFIX, base_name
from tallsbi.api.engine import NetworkEngine
from tallsbi.random import torch_generator
from tallsbi.samplers.ddim import DDIM
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.settings.time import TimeSettings
from tallsbi.study.stages.batches import batch_of
from tallsbi.study.stages.draws import Datasets, Stream, plain_and_clipped_draws, tall_draws
from tallsbi.study.stages.health import prior_variables
from tallsbi.study.stages.ragged import joined
from tallsbi.study.tasks import simulator
from tallsbi.study.tasks.base import TrainingProblem

if TYPE_CHECKING:
    import xarray as xr

CALIBRATION_PAIRS_PER_CALL = 500


def sample(
    settings: SizedSampleSettings,
    method: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    progress: Callable = iter,
) -> xr.Dataset:
    """Draws [n, set, sample, parameter] of one method, in the parameter's own space, with their health."""
    (run,) = _draws(settings, [method], saved, observations, progress)
    return run


def sample_all(
    settings: SizedSampleSettings, saved: SavedNetwork, observations: xr.Dataset, progress: Callable = iter
) -> dict[str, xr.Dataset]:
    """The same for every method of the settings; a method and its clipped variant are drawn in one pass."""
    drawn: dict[str, xr.Dataset] = {}
    for name in dict.fromkeys(map(base_name, settings.names)):
        forms = [form for form in (name, name + CLIP_SUFFIX) if form in settings.names]
        drawn |= zip(forms, _draws(settings, forms, saved, observations, progress), strict=True)
    return {method: drawn[method] for method in settings.names}


def _draws(
    settings: SizedSampleSettings,
    forms: list[str],
    saved: SavedNetwork,
    observations: xr.Dataset,
    progress: Callable,
) -> list[xr.Dataset]:
    """Draws of one method; `forms` are its plain run, its clipped run, or both in this order."""
    problem, algorithm = simulator(settings.problem), settings.methods.algorithm(forms[-1])
    if settings.sets is not None:
        observations = observations.isel(set=slice(settings.sets))
    if settings.batch is not None:
        observations = batch_of(observations, "set", settings.batch)
    datasets = Datasets.of(observations)
    if settings.kind == "single":
        datasets = datasets.each_alone()
    engine, method = network_engine(saved, problem, settings), base_name(forms[0])
    if settings.learned_prior:
        # Only GAUSS says how to get the covariance of the learned prior.
        runner = DDIM(steps=algorithm.cov_steps, eta=algorithm.cov_eta)
        name = (*problem.stream, settings.n_train, method, "prior")
        generator = torch_generator(settings.seed, *name, device=settings.device)
        engine = engine.with_learned_prior(runner, algorithm.cov_samples, generator)
    # Plain and clipped draws have the same streams, whether one of them is wanted or both.
    stream = _stream(problem, method, settings)
    sharing = CALIBRATION_PAIRS_PER_CALL if settings.kind == "calibration" else None
    options = {"device": settings.device, "sharing": sharing, "progress": progress}
    parts: list[tuple[xr.Dataset, ...]] = []
    for samples, n_obs in groupby(settings.n_obs, settings.samples_at):
        arguments = (engine, algorithm, datasets, tuple(n_obs), samples, settings.seed, stream)
        if len(forms) > 1:
            parts.append(plain_and_clipped_draws(*arguments, **options))
        else:
            parts.append((tall_draws(*arguments, **options),))
    runs = map(joined, zip(*parts, strict=True))
    common = prior_variables(problem.prior, "set")
    return [
        run.assign(common)
        .assign_coords(parameter=list(problem.parameter_names))
        .assign_attrs(task=problem.name, method=form, n_train=settings.n_train)
        for form, run in zip(forms, runs, strict=True)
    ]


def network_engine(
    saved: SavedNetwork,
    problem: TrainingProblem,
    settings: SizedSampleSettings | TimeSettings | HorizonSettings | RefineSettings,
) -> NetworkEngine:
    return NetworkEngine(
        saved,
        problem.prior,
        bounds_factor=settings.bounds_factor,
        dtype=getattr(torch, settings.dtype),
        device=settings.device,
        precision=settings.precision,
    )


def _stream(problem: TrainingProblem, method: str, settings: SizedSampleSettings) -> Stream:
    """The names of the random streams by (n, dataset)."""
    beginning, kind = problem.stream, settings.kind
    if kind == "sets":
        return lambda n, number: (*beginning, settings.n_train, method, n, number)
    if kind == "tall":
        return lambda n, number: (*beginning, method, "tall", n)
    if kind == "single":
        return lambda n, number: (*beginning, method, "single", number)
    return lambda n, number: (*beginning, method, "calibration", n, number)

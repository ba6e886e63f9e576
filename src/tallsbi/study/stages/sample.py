"""Draws of tall posteriors with a trained network, for sbibm tasks and the Jansen-Rit problem alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from tallsbi.api.engine import NetworkEngine
from tallsbi.random import torch_generator
from tallsbi.samplers.ddim import DDIM
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.settings.refine import RefineSettings
from tallsbi.study.settings.sample import SampleSettings
from tallsbi.study.settings.time import TimeSettings
from tallsbi.study.stages.batches import batch_of
from tallsbi.study.stages.draws import Datasets, Stream, tall_draws
from tallsbi.study.stages.health import prior_variables
from tallsbi.study.tasks import simulator
from tallsbi.study.tasks.base import TrainingProblem

if TYPE_CHECKING:
    import xarray as xr

CALIBRATION_PAIRS_PER_CALL = 500


def sample(
    settings: SampleSettings,
    method: str,
    saved: SavedNetwork,
    observations: xr.Dataset,
    progress: Callable = iter,
) -> xr.Dataset:
    """Draws [n, set, sample, parameter] of one method, in the parameter's own space, with their health."""
    problem, algorithm = simulator(settings.problem), settings.methods.algorithm(method)
    if settings.batch is not None:
        observations = batch_of(observations, "set", settings.batch)
    datasets = Datasets.of(observations)
    if settings.kind == "single":
        datasets = datasets.each_alone()
    engine = network_engine(saved, problem, settings)
    if settings.learned_prior:
        # Only GAUSS says how to get the covariance of the learned prior.
        runner = DDIM(steps=algorithm.cov_steps, eta=algorithm.cov_eta)
        name = (*problem.stream, settings.n_train, method, "prior")
        stream = torch_generator(settings.seed, *name, device=settings.device)
        engine = engine.with_learned_prior(runner, algorithm.cov_samples, stream)
    run = tall_draws(
        engine,
        algorithm,
        datasets,
        settings.n_obs,
        settings.samples,
        settings.seed,
        _stream(problem, method, settings),
        device=settings.device,
        sharing=CALIBRATION_PAIRS_PER_CALL if settings.kind == "calibration" else None,
        progress=progress,
    )
    run = run.assign(prior_variables(problem.prior, "set"))
    return run.assign_coords(parameter=list(problem.parameter_names)).assign_attrs(
        task=problem.name, method=method, n_train=settings.n_train
    )


def network_engine(
    saved: SavedNetwork,
    problem: TrainingProblem,
    settings: SampleSettings | TimeSettings | HorizonSettings | RefineSettings,
) -> NetworkEngine:
    return NetworkEngine(
        saved,
        problem.prior,
        bounds_factor=settings.bounds_factor,
        dtype=getattr(torch, settings.dtype),
        device=settings.device,
    )


def _stream(problem: TrainingProblem, method: str, settings: SampleSettings) -> Stream:
    """The names of the random streams by (n, dataset)."""
    beginning, kind = problem.stream, settings.kind
    if kind == "sets":
        return lambda n, number: (*beginning, settings.n_train, method, n, number)
    if kind == "tall":
        return lambda n, number: (*beginning, method, "tall", n)
    if kind == "single":
        return lambda n, number: (*beginning, method, "single", number)
    return lambda n, number: (*beginning, method, "calibration", n, number)

"""Calibration of tall posteriors against n: offsets and coverage of parameters drawn from the prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

from tallsbi.metrics.calibration import Calibration, calibration
from tallsbi.metrics.horizon import reach, until_failure, worst
from tallsbi.random import integer_seed, numpy_generator, torch_generator
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.study.columns.sbibm import CALIBRATION, MEASURES
from tallsbi.study.settings.horizon import HorizonSettings
from tallsbi.study.stages.sample import network_engine
from tallsbi.study.stages.simulate import calibration as calibration_pairs
from tallsbi.study.tasks import simulator


def calibration_table(
    settings: HorizonSettings, saved: SavedNetwork, progress: Callable = iter
) -> pd.DataFrame:
    """A row per n and parameter of the only method, with the horizon of the method in every row.

    All n are measured, also those beyond the horizon. The datasets are the same for all methods.
    """
    (method,) = settings.methods.options
    problem, algorithm = simulator(settings.problem), settings.methods.algorithm(method)
    stream = (*problem.stream, "horizon")
    seed = integer_seed(settings.seed, *stream)
    pairs = calibration_pairs(problem, settings.datasets, max(settings.n_obs), seed)
    theta, x = torch.from_numpy(pairs["theta"].values).double(), torch.from_numpy(pairs["x"].values)
    engine = network_engine(saved, problem, settings)
    latent, measured = problem.prior.to_latent, []
    for n in progress(settings.n_obs):
        generators = [
            torch_generator(settings.seed, *stream, settings.n_train, method, n, k, device=settings.device)
            for k in range(len(x))
        ]
        drawn = engine.sample(algorithm, x[:, :n], settings.samples, generators).theta
        rng = numpy_generator(settings.seed, *stream, method, n)
        measured.append(calibration(n, latent(theta).numpy(), latent(drawn).numpy(), rng))
    tried = until_failure(measured)
    shared = {
        "task": settings.problem.name,
        "n_train": settings.n_train,
        "method": method,
        "steps": algorithm.steps,
        "samples": settings.samples,
        "horizon": reach(tried),
        "failed_n": tried[-1].n if tried[-1].departures else 0,
        "failure": worst(tried[-1]),
    }
    names = problem.parameter_names
    return CALIBRATION.frame(
        {**shared, **_row(result, i), "parameter": names[i]} for result in measured for i in range(result.dim)
    )


def _row(result: Calibration, i: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "n": result.n,
        "datasets": result.datasets,
        "lost": result.lost,
        "departs": bool(result.departures),
    }
    for name in MEASURES:
        measure = getattr(result, name)
        row |= {name: measure.value[i], f"{name}_low": measure.low[i], f"{name}_high": measure.high[i]}
    return row

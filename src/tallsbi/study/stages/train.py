"""The training of a network as a job: checkpoints while it runs, the network and its losses at the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tallsbi.random import Name, integer_seed
from tallsbi.schedule import NETWORK
from tallsbi.scores.network_file import write_network
from tallsbi.study.settings.train import TrainSettings
from tallsbi.study.tasks.base import TrainingProblem
from tallsbi.training import checkpoint
from tallsbi.training.loop import Trained

if TYPE_CHECKING:
    import xarray as xr


def train_and_write(
    job: Any,
    settings: TrainSettings,
    problem: TrainingProblem,
    data: xr.Dataset,
    checkpoints: str | Path,
    fit: Callable[..., Trained],
    stream: tuple[Name, ...] = (),
) -> None:
    """Trains on the first simulations of `data` and writes the outputs `network` and `losses` of the job.

    `fit` is `tallsbi.training.loop.train` or a function with the same arguments; `stream` continues the name of the
    problem's random stream. Resumes from its checkpoints.
    """
    data = data.isel(simulation=slice(settings.n_train))
    latent = problem.prior.to_latent(torch.from_numpy(data["theta"].values))
    trained = fit(
        latent.to(settings.device),
        torch.from_numpy(data["x"].values).to(settings.device),
        settings=settings.training,
        schedule=NETWORK,
        seed=integer_seed(settings.seed, *problem.training_stream(settings.n_train), *stream, "training"),
        checkpoint_dir=Path(checkpoints),
        progress=partial(job.progress, label="epochs"),
    )
    job.write(trained.losses.assign(stop_epoch=trained.facts["kept_epoch"]), "losses")
    write_network(trained.saved(problem.name), job.output("network"))
    checkpoint.discard(Path(checkpoints))

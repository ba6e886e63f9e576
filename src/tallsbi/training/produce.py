"""The training of a network as a job: checkpoints while it runs, the network and its losses at the end."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from tallsbi.random import Name, integer_seed
from tallsbi.schedule import BENCHMARK
from tallsbi.scores.network_file import write_network
from tallsbi.training import checkpoint
from tallsbi.training.loop import Trained, train
from tallsbi.training.settings import TrainingSettings


def train_and_write(
    job: Any,
    latent: Float[Tensor, "N m"],
    x: Float[Tensor, "N *d"],
    *,
    name: str,
    stream: tuple[Name, ...],
    checkpoints: str | Path,
    fit: Callable[..., Trained] = train,
) -> None:
    """Trains with the settings of `job` (`tallsbi.runner.job.Job`) and writes its outputs `network` and `losses`.

    `name` is written into the file, `stream` names the random stream. `fit` is `train`, or what is called like it.
    Resumes from its checkpoints.
    """
    settings = {key: value for key, value in job.settings.items() if key not in ("seed", "device")}
    device = job.settings["device"]
    trained = fit(
        latent.to(device),
        x.to(device),
        settings=TrainingSettings.from_json(settings),
        schedule=BENCHMARK,
        seed=integer_seed(job.seed, *stream, "training"),
        checkpoint_dir=Path(checkpoints),
        progress=partial(job.progress, label="epochs"),
    )
    job.write(trained.losses.assign(stop_epoch=trained.facts["kept_epoch"]), "losses")
    write_network(trained.saved(name), job.output("network"))
    checkpoint.discard(Path(checkpoints))

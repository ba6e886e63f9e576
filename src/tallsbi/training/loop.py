"""The training loop (appendix E of the paper).

Adam with a fixed or a falling learning rate on the denoising loss, an exponential average of the weights, a
validation loss of the averaged weights on rows, times and noises that stay the same, and either the final average
(`early_stopping` False) or the average at the lowest validation loss.

Every epoch draws from a random stream named by the seed and the epoch, so that a training resumed from a
checkpoint meets the same batches as one that was never interrupted.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.progress import Progress
from tallsbi.random import torch_generator
from tallsbi.schedule import Schedule
from tallsbi.scores.network import ScoreNetwork
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.storage.files import canonical_json
from tallsbi.training import checkpoint
from tallsbi.training.adam import Adam
from tallsbi.training.data import TrainingData, drawn, prepare
from tallsbi.training.ema import Average
from tallsbi.training.gradient import Gradient, PerceptronGradient, flatten
from tallsbi.training.history import History, table
from tallsbi.training.loss import Rows, epoch_rows, row_losses, validation_rows
from tallsbi.training.settings import TrainingSettings

if TYPE_CHECKING:
    import pandas as pd

_log = logging.getLogger(__name__)


class TrainingDiverged(ArithmeticError):
    """The loss is no longer finite."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network, what it takes to use it, and how the training went.

    `history`: train_loss and val_loss (NaN where not computed) of every epoch, `losses` the same as a table.
    `validation_losses`: the loss of each held-out row under the returned weights.
    """

    network: ScoreNetwork
    data: TrainingData
    schedule: Schedule
    history: History
    validation_losses: Float[Tensor, "V"]
    facts: dict[str, Any]

    @property
    def losses(self) -> pd.DataFrame:
        return table(self.history)

    def saved(self, task: str) -> SavedNetwork:
        """What `write_network` takes."""
        return SavedNetwork(
            self.network, self.data.normaliser, self.schedule, task, self.validation_losses, self.facts
        )


def train(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R d"],
    settings: TrainingSettings,
    schedule: Schedule,
    *,
    seed: int,
    log_x: bool = False,
    weights: Float[Tensor, "R"] | None = None,
    checkpoint_dir: Path | None = None,
    checkpoint_seconds: float = 60.0,
    progress: Progress = iter,
) -> Trained:
    """Trains on latent parameters (`prior.to_latent`) and raw observations; `weights`: how often each row is drawn.

    With `checkpoint_dir` the state is saved there every `checkpoint_seconds`, and a training continues from it.
    """
    run = new_run(latent, x, settings, schedule, seed=seed, log_x=log_x, weights=weights)
    return finish(run, checkpoint_dir, checkpoint_seconds, progress)


def new_run(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R d"],
    settings: TrainingSettings,
    schedule: Schedule,
    *,
    seed: int,
    log_x: bool = False,
    weights: Float[Tensor, "R"] | None = None,
) -> Run:
    """A training that has not begun."""
    stream = torch_generator(seed, "training", "split")
    data = prepare(latent, x, settings.validation_share, stream, log_x=log_x, weights=weights)
    return Run(data, settings, schedule, seed)


def finish(
    run: Run, checkpoint_dir: Path | None, checkpoint_seconds: float, progress: Progress = iter
) -> Trained:
    """Trains to the end, from the checkpoint of this very training where there is one."""
    name = canonical_json(run.identity())
    state = None if checkpoint_dir is None else checkpoint.load(checkpoint_dir, name)
    if state is not None:
        run.restore(state)
        _log.info("training resumed after epoch %d", run.epoch)
    saved_at = time.monotonic()
    for _ in _until(run, progress(range(run.epoch, run.settings.epochs))):
        run.one_epoch()
        if checkpoint_dir is not None and time.monotonic() - saved_at >= checkpoint_seconds:
            checkpoint.save(checkpoint_dir, name, run.state())
            saved_at = time.monotonic()
    return run.result()


def _until(run: Run, epochs: Iterable[int]) -> Iterable[int]:
    if run.finished:
        return
    for epoch in epochs:
        yield epoch
        if run.finished:
            return


class Run:
    """One training and its state after `epoch` epochs.

    The methods `_network`, `_gradient` and `_held_out_x` are what another kind of network replaces.
    """

    def __init__(self, data: TrainingData, settings: TrainingSettings, schedule: Schedule, seed: int) -> None:
        self.data, self.settings, self.schedule, self.seed = data, settings, schedule, seed
        self.network = self._network(torch_generator(seed, "training", "weights")).to(data.theta)
        self.weights = flatten(self.network)
        self.average = Average(self.network, settings.ema_decay)
        self.gradient = self._gradient()
        self.optimiser = Adam(self.weights, settings.learning_rate)
        self.held_out = validation_rows(
            data.held_out_theta,
            self._held_out_x(),
            schedule,
            settings.frequencies,
            settings.validation_draws,
            torch_generator(seed, "training", "validation"),
            settings.drop_context,
        )
        self.epoch, self.best_epoch, self.best_loss = 0, 0, math.inf
        self.best = self.average.flat.clone()
        self.train_losses: list[float] = []
        self.validation_losses: list[float] = []

    def _network(self, generator: torch.Generator) -> ScoreNetwork:
        sizes = self.data.theta.shape[1], self.data.x.shape[1]
        return ScoreNetwork(self.settings.architecture(*sizes), generator)

    def _gradient(self) -> Gradient:
        return PerceptronGradient(self.network, min(self.settings.batch_size, len(self.data.theta)))

    def _held_out_x(self) -> Float[Tensor, "V d"]:
        return self.data.held_out_x

    def identity(self) -> dict[str, Any]:
        """All that decides the result: a checkpoint belongs to one training only."""
        return {
            "settings": self.settings.to_json(),
            "schedule": asdict(self.schedule),
            "seed": self.seed,
            "data": self.data.digest,
            "torch": torch.__version__,
        }

    @property
    def finished(self) -> bool:
        s = self.settings
        if self.epoch >= s.epochs or not s.early_stopping:
            return self.epoch >= s.epochs
        # Only a validation shows whether the loss improved, and `patience` may be shorter than `validate_every`.
        validated = self.epoch > 0 and math.isfinite(self.validation_losses[-1])
        return validated and self.epoch >= s.min_epochs and self.epoch - self.best_epoch >= s.patience

    def one_epoch(self) -> None:
        generator = torch_generator(self.seed, "training", "epoch", self.epoch)
        settings = self.settings
        theta, x = self.data.theta, self.data.x
        if self.data.weights is not None:
            chosen = drawn(self.data.weights, generator)
            theta, x = theta[chosen], x[chosen]
        rows = epoch_rows(
            theta,
            x,
            self.schedule,
            settings.frequencies,
            generator,
            settings.drop_context,
        )
        self.train_losses.append(self._descend(rows))
        self.epoch += 1
        due = self.epoch % self.settings.validate_every == 0 or self.epoch == self.settings.epochs
        self.validation_losses.append(self._validate() if due else math.nan)

    def _descend(self, rows: Rows) -> float:
        """One pass over the rows; returns the mean of the losses met on the way."""
        size, total = self.settings.batch_size, rows.noise.new_zeros((), dtype=torch.float64)
        for start in range(0, len(rows), size):
            batch = rows.slice(start, start + size)
            done = (self.epoch + start / len(rows)) / self.settings.epochs
            self.optimiser.learning_rate = self.settings.rate(done)
            total += self.gradient(batch) * len(batch)
            self.optimiser.step(self.gradient.flat)
            self.average.update(self.weights)
        mean = float(total) / len(rows)
        if not math.isfinite(mean):
            raise TrainingDiverged(
                f"the training loss is {mean} in epoch {self.epoch + 1} with learning_rate = "
                f"{self.settings.learning_rate}: lower it, or look for extreme values in the data."
            )
        return mean

    def _validate(self) -> float:
        losses = row_losses(self.average.network, self.held_out, self.settings.validation_draws)
        loss = float(losses.mean())
        if loss < self.best_loss:
            self.best_loss, self.best_epoch = loss, self.epoch
            # A copy: the average itself goes on moving.
            self.best.copy_(self.average.flat)
        return loss

    def state(self) -> checkpoint.State:
        return checkpoint.State(
            tensors={
                "weights": self.weights,
                "average": self.average.flat,
                "best": self.best,
                "train_losses": torch.tensor(self.train_losses, dtype=torch.float64),
                "validation_losses": torch.tensor(self.validation_losses, dtype=torch.float64),
                **{f"adam.{key}": value for key, value in self.optimiser.state.items()},
            },
            counters={
                "epoch": self.epoch,
                "updates": self.average.updates,
                "best_epoch": self.best_epoch,
                "best_loss": self.best_loss if self.best_epoch else None,
            },
        )

    @torch.no_grad()
    def restore(self, state: checkpoint.State) -> None:
        tensors, counters = state.tensors, state.counters
        self.weights.copy_(tensors["weights"])
        self.average.flat.copy_(tensors["average"])
        self.best.copy_(tensors["best"])
        self.optimiser.restore({key: tensors[f"adam.{key}"] for key in self.optimiser.state})
        self.train_losses = tensors["train_losses"].tolist()
        self.validation_losses = tensors["validation_losses"].tolist()
        self.epoch, self.average.updates = counters["epoch"], counters["updates"]
        self.best_epoch = counters["best_epoch"]
        self.best_loss = counters["best_loss"] if self.best_epoch else math.inf

    def result(self) -> Trained:
        if self.settings.early_stopping:
            self.average.flat.copy_(self.best)
        network = self.average.network
        rows = row_losses(network, self.held_out, self.settings.validation_draws)
        history = {"train_loss": list(self.train_losses), "val_loss": list(self.validation_losses)}
        facts = {
            "settings": self.settings.to_json(),
            "seed": self.seed,
            "training_rows": len(self.data.theta),
            "validation_rows": len(rows),
            "parameters": self.weights.numel(),
            "epochs": self.epoch,
            "stopped_early": self.epoch < self.settings.epochs,
            "best_epoch": self.best_epoch,
            "best_validation_loss": self.best_loss,
            "kept_epoch": self.best_epoch if self.settings.early_stopping else self.epoch,
            "validation_loss": float(rows.mean()),
        }
        return Trained(network, self.data, self.schedule, history, rows, facts)

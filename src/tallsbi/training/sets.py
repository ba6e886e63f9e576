"""Training on sets of observations (PF-NPSE, appendix of the paper).

Every parameter comes with n_max simulations; a training example is a set of 1 to n_max of them, its size
uniform.

    mean      size and members once per example (the first ones), as published: then it is ordinary training
              on the encoded rows.
    deep_set  size and members anew in every epoch, which costs nothing and uses all simulations. The members
              share one mean and standard deviation: one per place would tell the places apart.

Settings, loss, average, validation and checkpoints are those of `tallsbi.training.loop`; held-out sets are
drawn once. Gradients of the deep set are autograd's.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.samplers.base import Progress
from tallsbi.schedule import BENCHMARK, Schedule
from tallsbi.scores.network_file import write_network
from tallsbi.scores.normaliser import Normaliser
from tallsbi.scores.set_network import MEMBER_ENCODER, SetArchitecture, SetNetwork
from tallsbi.scores.sets import SetEncoding
from tallsbi.study.files import canonical_json
from tallsbi.study.seeds import Name, integer_seed, torch_generator
from tallsbi.training import checkpoint
from tallsbi.training.adam import Adam
from tallsbi.training.data import TrainingData
from tallsbi.training.ema import Average
from tallsbi.training.gradient import flatten
from tallsbi.training.loop import Run, Trained, train
from tallsbi.training.loss import Rows, validation_rows
from tallsbi.training.settings import TrainingSettings


def train_on_sets(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: SetEncoding,
    settings: TrainingSettings,
    schedule: Schedule,
    *,
    seed: int,
    checkpoint_dir: Path | None = None,
    checkpoint_seconds: float = 60.0,
    progress: Progress = iter,
) -> Trained:
    """Trains on latent parameters and at least n_max raw observations of each; the first n_max are used."""
    if settings.drop_context:
        raise ValueError(
            f"training.drop_context = {settings.drop_context}: networks on sets do not learn the prior; set it to 0."
        )
    if x.shape[1] < encoding.n_max:
        raise ValueError(
            f"n_max = {encoding.n_max}, but there are {x.shape[1]} observations per parameter: simulate more."
        )
    x = x[:, : encoding.n_max]
    common = {"checkpoint_dir": checkpoint_dir, "checkpoint_seconds": checkpoint_seconds}
    if encoding.kind == "mean":
        rows = encoding.rows(
            x, _sizes(len(x), encoding.n_max, torch_generator(seed, "training", "sets")).to(x.device)
        )
        trained = train(latent, rows, settings, schedule, seed=seed, progress=progress, **common)
    else:
        data = prepare_sets(
            latent, x, encoding, settings.validation_share, torch_generator(seed, "training", "split")
        )
        run = SetRun(data, encoding, settings, schedule, seed)
        trained = _finish(run, progress, **common)
    return replace(trained, facts={**trained.facts, "encoding": encoding.to_json()})


def train_sets_and_write(
    job: Any,
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: SetEncoding,
    *,
    name: str,
    stream: tuple[Name, ...],
    checkpoints: str | Path,
) -> None:
    """Trains with the settings of `job` (`tallsbi.study.job.Job`) and writes its outputs `network` and `losses`."""
    settings = {key: value for key, value in job.settings.items() if key not in ("seed", "device")}
    device = job.settings["device"]
    trained = train_on_sets(
        latent.to(device),
        x.to(device),
        encoding,
        TrainingSettings.from_json(settings),
        BENCHMARK,
        seed=integer_seed(job.seed, *stream, encoding.kind, encoding.n_max, "training"),
        checkpoint_dir=Path(checkpoints),
        progress=partial(job.progress, label="epochs"),
    )
    job.write(trained.losses.assign(stop_epoch=trained.facts["kept_epoch"]), "losses")
    write_network(trained.saved(name), job.output("network"))
    shutil.rmtree(checkpoints, ignore_errors=True)  # the finished network makes them useless


def prepare_sets(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: SetEncoding,
    validation_share: float,
    generator: torch.Generator,
) -> TrainingData:
    """Rows of full sets, standardised and split as in `tallsbi.training.data`."""
    rows, n_max = len(latent), encoding.n_max
    held_out = round(validation_share * rows)
    if not 0 < held_out < rows:
        raise ValueError(
            f"validation_share = {validation_share} of {rows} rows holds out {held_out}: "
            "at least one row must be held out and one trained on; give more rows."
        )
    full = encoding.rows(x, torch.full((rows,), n_max, device=x.device))
    members = full[:, :-n_max].unflatten(1, (n_max, -1)).flatten(0, 1)
    pooled = Normaliser.fit(latent.repeat_interleave(n_max, 0), members)
    size = torch.zeros(n_max, dtype=torch.float64, device=pooled.x_mean.device)
    normaliser = replace(
        pooled,
        x_mean=torch.cat([pooled.x_mean.repeat(n_max), size]),
        x_std=torch.cat([pooled.x_std.repeat(n_max), size + 1]),
    )
    order = torch.randperm(rows, generator=generator).to(latent.device)
    theta, sets = normaliser.theta(latent)[order], normaliser.x(full).to(latent.dtype)[order]
    digest = hashlib.sha256()
    for tensor in (theta, sets):
        digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return TrainingData(
        theta=theta[held_out:],
        x=sets[held_out:],
        held_out_theta=theta[:held_out],
        held_out_x=sets[:held_out],
        normaliser=normaliser,
        digest=digest.hexdigest(),
    )


class SetRun(Run):
    """One training of a deep set and its state after `epoch` epochs; `data` holds rows of full sets."""

    def __init__(
        self,
        data: TrainingData,
        encoding: SetEncoding,
        settings: TrainingSettings,
        schedule: Schedule,
        seed: int,
    ) -> None:
        self.settings, self.schedule, self.seed = settings, schedule, seed
        self.encoding = replace(encoding, log_x=False)  # the rows of `data` are logarithms already
        self.data, self.full = data, data.x
        plain = settings.architecture(data.theta.shape[1], data.x.shape[1])
        architecture = SetArchitecture(
            **{**vars(plain), "x_embedding": settings.x_embedding or MEMBER_ENCODER}, n_max=encoding.n_max
        )
        self.network = SetNetwork(architecture, torch_generator(seed, "training", "weights")).to(data.theta)
        self.weights = flatten(self.network)
        self.average = Average(self.network, settings.ema_decay)
        self.gradient = AutogradGradient(self.network)
        self.optimiser = Adam(self.weights, settings.learning_rate)
        self.held_out = validation_rows(
            data.held_out_theta,
            draw_sets(data.held_out_x, self.encoding, torch_generator(seed, "training", "held-out sets")),
            schedule,
            settings.frequencies,
            settings.validation_draws,
            torch_generator(seed, "training", "validation"),
        )
        self.epoch, self.best_epoch, self.best_loss = 0, 0, math.inf
        self.best = self.average.flat.clone()
        self.train_losses: list[float] = []
        self.validation_losses: list[float] = []

    def one_epoch(self) -> None:
        stream = torch_generator(self.seed, "training", "sets", self.epoch)
        self.data = replace(self.data, x=draw_sets(self.full, self.encoding, stream))
        super().one_epoch()


class AutogradGradient:
    """What `tallsbi.training.gradient.Gradient` does, for any flattened network."""

    def __init__(self, network: SetNetwork) -> None:
        parameters = list(network.parameters())
        self.network, sizes = network, [parameter.numel() for parameter in parameters]
        self.flat = parameters[0].new_zeros(sum(sizes)).detach()
        # Backpropagation adds to gradients that are there already, in place: they stay views of one vector.
        for parameter, part in zip(parameters, self.flat.split(sizes), strict=True):
            parameter.grad = part.view_as(parameter)

    @torch.enable_grad()
    def __call__(self, rows: Rows) -> Float[Tensor, ""]:
        """The loss of the rows; its gradient is left in `flat`."""
        a = self.network.architecture
        theta, x, features = rows.inputs.tensor_split((a.theta_dim, a.theta_dim + a.x_dim), dim=1)
        self.flat.zero_()
        loss = (self.network.with_features(theta, x, features) - rows.noise).square().mean()
        loss.backward()
        return loss.detach()


def draw_sets(
    full: Float[Tensor, "N w"], encoding: SetEncoding, generator: torch.Generator
) -> Float[Tensor, "N w"]:
    """From rows of full sets rows of sets of a random size, uniform, with random members."""
    n_max = encoding.n_max
    places = torch.rand(len(full), n_max, generator=generator).argsort(1).to(full.device)
    members = full[:, :-n_max].unflatten(1, (n_max, -1))
    shuffled = members.gather(1, places[:, :, None].expand_as(members))
    return encoding.rows(shuffled, _sizes(len(full), n_max, generator).to(full.device))


def _sizes(count: int, n_max: int, generator: torch.Generator) -> Tensor:
    return torch.randint(1, n_max + 1, (count,), generator=generator)


def _finish(
    run: SetRun, progress: Progress, *, checkpoint_dir: Path | None, checkpoint_seconds: float
) -> Trained:
    """Trains to the end, from its checkpoint where there is one."""
    name = canonical_json(
        {
            "settings": run.settings.to_json(),
            "encoding": run.encoding.to_json(),
            "schedule": asdict(run.schedule),
            "seed": run.seed,
            "data": run.data.digest,
            "torch": torch.__version__,
        }
    )
    state = None if checkpoint_dir is None else checkpoint.load(checkpoint_dir, name)
    if state is not None:
        run.restore(state)
    saved_at = time.monotonic()
    for _ in progress(range(run.epoch, run.settings.epochs)):
        if run.finished:
            break
        run.one_epoch()
        if checkpoint_dir is not None and time.monotonic() - saved_at >= checkpoint_seconds:
            checkpoint.save(checkpoint_dir, name, run.state())
            saved_at = time.monotonic()
    return run.result()

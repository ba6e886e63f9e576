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

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tallsbi.progress import Progress
from tallsbi.random import torch_generator
from tallsbi.schedule import Schedule
from tallsbi.scores.group_network import MEMBER_ENCODER, GroupArchitecture, GroupNetwork
from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.normaliser import Normaliser
from tallsbi.training.data import TrainingData, held_out_rows, split
from tallsbi.training.loop import Run, Trained, finish, train
from tallsbi.training.loss import Rows
from tallsbi.training.settings import TrainingSettings


def train_on_groups(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: GroupEncoding,
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
        trained = finish(run, progress=progress, **common)
    return replace(trained, facts={**trained.facts, "encoding": encoding.to_json()})


def prepare_sets(
    latent: Float[Tensor, "R m"],
    x: Float[Tensor, "R k d"],
    encoding: GroupEncoding,
    validation_share: float,
    generator: torch.Generator,
) -> TrainingData:
    """Rows of full sets, standardised and split as in `tallsbi.training.data`."""
    rows, n_max = len(latent), encoding.n_max
    held_out = held_out_rows(rows, validation_share)
    full = encoding.rows(x, torch.full((rows,), n_max, device=x.device))
    members = full[:, :-n_max].unflatten(1, (n_max, -1)).flatten(0, 1)
    pooled = Normaliser.fit(latent.repeat_interleave(n_max, 0), members)
    size = torch.zeros(n_max, dtype=torch.float64, device=pooled.x_mean.device)
    normaliser = replace(
        pooled,
        x_mean=torch.cat([pooled.x_mean.repeat(n_max), size]),
        x_std=torch.cat([pooled.x_std.repeat(n_max), size + 1]),
    )
    return split(latent, full, normaliser, held_out, generator)


class SetRun(Run):
    """One training of a deep set and its state after `epoch` epochs; `data` holds rows of full sets."""

    def __init__(
        self,
        data: TrainingData,
        encoding: GroupEncoding,
        settings: TrainingSettings,
        schedule: Schedule,
        seed: int,
    ) -> None:
        self.encoding = replace(encoding, log_x=False)  # the rows of `data` are logarithms already
        self.full = data.x
        super().__init__(data, settings, schedule, seed)

    def _network(self, generator: torch.Generator) -> GroupNetwork:
        plain = self.settings.architecture(self.data.theta.shape[1], self.data.x.shape[1])
        sizes = {**vars(plain), "x_embedding": self.settings.x_embedding or MEMBER_ENCODER}
        return GroupNetwork(GroupArchitecture(**sizes, n_max=self.encoding.n_max), generator)

    def _gradient(self) -> AutogradGradient:
        return AutogradGradient(self.network)

    def _held_out_x(self) -> Float[Tensor, "V w"]:
        stream = torch_generator(self.seed, "training", "held-out sets")
        return draw_sets(self.data.held_out_x, self.encoding, stream)

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "encoding": self.encoding.to_json()}

    def one_epoch(self) -> None:
        stream = torch_generator(self.seed, "training", "sets", self.epoch)
        self.data = replace(self.data, x=draw_sets(self.full, self.encoding, stream))
        super().one_epoch()


class AutogradGradient:
    """What `tallsbi.training.gradient.Gradient` does, for any flattened network."""

    def __init__(self, network: GroupNetwork) -> None:
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
    full: Float[Tensor, "N w"], encoding: GroupEncoding, generator: torch.Generator
) -> Float[Tensor, "N w"]:
    """From rows of full sets rows of sets of a random size, uniform, with random members."""
    n_max = encoding.n_max
    places = torch.rand(len(full), n_max, generator=generator).argsort(1).to(full.device)
    members = full[:, :-n_max].unflatten(1, (n_max, -1))
    shuffled = members.gather(1, places[:, :, None].expand_as(members))
    return encoding.rows(shuffled, _sizes(len(full), n_max, generator).to(full.device))


def _sizes(count: int, n_max: int, generator: torch.Generator) -> Tensor:
    return torch.randint(1, n_max + 1, (count,), generator=generator)
